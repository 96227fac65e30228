! What Fortran programs call, through mpif.h, the module mpi (-DMODULE) or mpi_f08 (-DF08): one phase per call,
! the name printed first. Four ranks.
#if defined(F08)
#define COMMUNICATOR type(MPI_Comm)
#define REQUEST type(MPI_Request)
#define WINDOW type(MPI_Win)
#else
#define COMMUNICATOR integer
#define REQUEST integer
#define WINDOW integer
#endif
program calls
#if defined(F08)
  use mpi_f08
#elif defined(MODULE)
  use mpi
#endif
  implicit none
#if !defined(F08) && !defined(MODULE)
  include 'mpif.h'
#endif
  COMMUNICATOR :: half
  REQUEST :: sending, receiving
  WINDOW :: window
  integer :: me, to, from, error, step, own, i
  integer :: counts(4) = (/1, 2, 3, 4/), starts(4) = (/0, 10, 20, 30/), mine(4)
  integer, asynchronous :: a(1000), b(1000)
  integer(kind=MPI_ADDRESS_KIND) :: bytes, nothing

  step = 1
  a = 0
  nothing = 0
  call MPI_Init(error)
  call MPI_Pcontrol(0)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, error)
  to = mod(me + 1, 4)
  from = mod(me + 3, 4)
  mine = me + 1

  call begin('send')
  call MPI_Irecv(b, 11, MPI_INTEGER, from, 7, MPI_COMM_WORLD, receiving, error)
  call MPI_Send(a, 11, MPI_INTEGER, to, 7, MPI_COMM_WORLD, error)
  call MPI_Wait(receiving, MPI_STATUS_IGNORE, error)
  call begin('issend')
  call MPI_Irecv(b, 11, MPI_INTEGER, from, 7, MPI_COMM_WORLD, receiving, error)
  call MPI_Issend(a, 11, MPI_INTEGER, to, 7, MPI_COMM_WORLD, sending, error)
  call MPI_Wait(sending, MPI_STATUS_IGNORE, error)
  call MPI_Wait(receiving, MPI_STATUS_IGNORE, error)
  call begin('sendrecv')
  call MPI_Sendrecv(a, 11, MPI_INTEGER, to, 7, b, 11, MPI_INTEGER, from, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE, error)
  call begin('send_init')
  call MPI_Send_init(a, 11, MPI_INTEGER, to, 7, MPI_COMM_WORLD, sending, error)
  do i = 1, 2
    call MPI_Irecv(b, 11, MPI_INTEGER, from, 7, MPI_COMM_WORLD, receiving, error)
    call MPI_Start(sending, error)
    call MPI_Wait(sending, MPI_STATUS_IGNORE, error)
    call MPI_Wait(receiving, MPI_STATUS_IGNORE, error)
  end do
  call MPI_Request_free(sending, error)
  call begin('bcast')
  call MPI_Bcast(a, 5, MPI_INTEGER, 1, MPI_COMM_WORLD, error)
  call begin('ireduce')
  call MPI_Ireduce(a, b, 5, MPI_INTEGER, MPI_SUM, 2, MPI_COMM_WORLD, sending, error)
  call MPI_Wait(sending, MPI_STATUS_IGNORE, error)
  call begin('allreduce')
  call MPI_Allreduce(MPI_IN_PLACE, b, 6, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, error)
  call begin('gather')
  if (me == 2) then
    call MPI_Gather(MPI_IN_PLACE, 3, MPI_INTEGER, b, 3, MPI_INTEGER, 2, MPI_COMM_WORLD, error)
  else
    call MPI_Gather(a, 3, MPI_INTEGER, b, 3, MPI_INTEGER, 2, MPI_COMM_WORLD, error)
  end if
  call begin('alltoallv')
  call MPI_Alltoallv(a, counts, starts, MPI_INTEGER, b, mine, starts, MPI_INTEGER, MPI_COMM_WORLD, error)
  call MPI_Pcontrol(0)
  call MPI_Comm_split(MPI_COMM_WORLD, mod(me, 2), -me, half, error)
  call MPI_Comm_rank(half, own, error)
  call begin('send_in_part')
  if (own == 0) then
    call MPI_Send(a, 17, MPI_INTEGER, 1, 0, half, error)
  else
    call MPI_Recv(b, 17, MPI_INTEGER, 0, 0, half, MPI_STATUS_IGNORE, error)
  end if
  call MPI_Pcontrol(0)
  if (mod(me, 2) == 1) then
    bytes = 4000
    call MPI_Win_create(b, bytes, 4, MPI_INFO_NULL, half, window, error)
    call MPI_Win_fence(0, window, error)
  end if
  call begin('put')
  if (me == 3) call MPI_Put(a, 13, MPI_INTEGER, 1, nothing, 13, MPI_INTEGER, window, error)
  call MPI_Pcontrol(0)
  if (mod(me, 2) == 1) then
    call MPI_Win_fence(0, window, error)
    call MPI_Win_free(window, error)
  end if
  call MPI_Comm_free(half, error)
  call MPI_Finalize(error)

contains

  subroutine begin(name)
    character(len=*), intent(in) :: name
    call MPI_Pcontrol(0)
    if (me == 0) print '(a)', name
    call MPI_Barrier(MPI_COMM_WORLD, error)
    step = step + 1
    call MPI_Pcontrol(step)
  end subroutine begin
end program calls
