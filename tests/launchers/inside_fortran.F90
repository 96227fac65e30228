! The process that was launched as rank i has rank i + 1, in each of the three interfaces to Fortran (-DMPIFH, -DOLD, -DF08).
program inside
#ifdef F08
  use mpi_f08
  implicit none
  type(MPI_Comm) :: grid, dup
  type(MPI_Request) :: request
#else
#ifdef OLD
  use mpi
  implicit none
#else
  implicit none
  include 'mpif.h'
#endif
  integer :: grid, dup, request
#endif
  integer :: rank, ranks, launched, got, left, right, key, total, ierr, length
  integer(kind=MPI_ADDRESS_KIND) :: value, extra, found_value
  logical :: found, rings(1)
  integer :: extents(1)
  character(len=16) :: text
  character(len=MPI_MAX_OBJECT_NAME) :: name

  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierr)
  call get_environment_variable('OMPI_COMM_WORLD_RANK', text, length)
  if (length == 0) call get_environment_variable('PMI_RANK', text)
  read (text, *) launched
  call check(rank == mod(launched + 1, ranks), 'rank')
  left = mod(rank + ranks - 1, ranks)
  right = mod(rank + 1, ranks)
  call MPI_Irecv(got, 1, MPI_INTEGER, left, 5, MPI_COMM_WORLD, request, ierr)
  call MPI_Send(rank, 1, MPI_INTEGER, right, 5, MPI_COMM_WORLD, ierr)
  call MPI_Wait(request, MPI_STATUS_IGNORE, ierr)
  call check(got == left, 'message')
  call MPI_Allreduce(rank, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)
  call check(total == ranks * (ranks - 1) / 2, 'sum')
  call MPI_Comm_get_name(MPI_COMM_WORLD, name, length, ierr)
  call check(name(1:length) == 'MPI_COMM_WORLD', 'name')
  call MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, found_value, found, ierr)
  call check(found .and. found_value >= 32767, 'largest tag')
  extra = 0
  value = 4711
  call MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, key, extra, ierr)
  call MPI_Comm_get_attr(MPI_COMM_WORLD, key, found_value, found, ierr)
  call check(.not. found, 'no attribute')
  call MPI_Comm_set_attr(MPI_COMM_WORLD, key, value, ierr)
  call MPI_Comm_dup(MPI_COMM_WORLD, dup, ierr)
  call MPI_Comm_get_attr(dup, key, found_value, found, ierr)
  call check(found .and. found_value == value, 'attribute of a copy')
  call MPI_Comm_get_attr(MPI_COMM_WORLD, key, found_value, found, ierr)
  call check(found .and. found_value == value, 'attribute')
  call MPI_Comm_delete_attr(MPI_COMM_WORLD, key, ierr)
  call MPI_Comm_get_attr(MPI_COMM_WORLD, key, found_value, found, ierr)
  call check(.not. found, 'attribute that was deleted')
  extents(1) = ranks
  rings(1) = .true.
  call MPI_Cart_create(MPI_COMM_WORLD, 1, extents, rings, .true., grid, ierr)
  call MPI_Comm_rank(grid, got, ierr)
  call check(got == rank, 'grid')
  call MPI_Cart_shift(grid, 0, 1, left, right, ierr)
  call check(right == mod(rank + 1, ranks), 'neighbour')
  call MPI_Comm_free(grid, ierr)
  call MPI_Comm_free(dup, ierr)
  print '(A, I0, A)', 'rank ', rank, ' is content'
  call MPI_Finalize(ierr)
contains
  subroutine check(good, what)
    logical, intent(in) :: good
    character(len=*), intent(in) :: what
    integer :: error
    if (good) return
    print '(A, I0, 2A)', 'rank ', rank, ': ', what
    call MPI_Abort(MPI_COMM_WORLD, 2, error)
  end subroutine
end program
