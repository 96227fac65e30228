! The vertices of a square lattice on 2 nodes of 4 cores; vertices and blocks are numbered from 1.
! gfortran square.f90 $(python -m hopbytes.config --libs) -o square
program square
  use, intrinsic :: iso_c_binding
  implicit none

  type, bind(c) :: hopbytes_graph
    integer(c_int64_t) :: n
    type(c_ptr) :: rows, targets, weights = c_null_ptr, loads = c_null_ptr
    integer(c_int32_t) :: index_bits = 32, weight_bits = 32, base = 1
  end type
  type, bind(c) :: hopbytes_options
    integer(c_int64_t) :: k
    type(c_ptr) :: machine, capacity
    real(c_double) :: imbalance
    integer(c_int64_t) :: seed
    integer(c_int32_t) :: threads
    real(c_double) :: time_limit
    type(c_ptr) :: fixed
    integer(c_int32_t) :: effort
  end type
  type, bind(c) :: hopbytes_result
    integer(c_int64_t) :: cost, cut
    real(c_double) :: imbalance
    integer(c_int64_t) :: moved
  end type
  interface
    subroutine hopbytes_default_options(options) bind(c)
      import :: hopbytes_options
      type(hopbytes_options), intent(out) :: options
    end subroutine
    function hopbytes_map(graph, options, part, found) result(status) bind(c)
      import :: hopbytes_graph, hopbytes_options, hopbytes_result, c_int, c_int32_t
      type(hopbytes_graph), intent(in) :: graph
      type(hopbytes_options), intent(in) :: options
      integer(c_int32_t), intent(out) :: part(*)
      type(hopbytes_result), intent(out) :: found
      integer(c_int) :: status
    end function
  end interface

  integer, parameter :: side = 32, n = side * side
  integer(c_int32_t), target :: rows(n + 1), targets(4 * n)
  integer(c_int32_t) :: part(n)
  character(kind=c_char, len=19), target :: machine = "node:2@10 core:4@1" // c_null_char
  type(hopbytes_graph) :: graph
  type(hopbytes_options) :: options
  type(hopbytes_result) :: found
  integer :: v, e, x, y, status

  e = 1
  rows(1) = 1
  do v = 1, n
    x = mod(v - 1, side)
    y = (v - 1) / side
    if (y > 0) call add(v - side)
    if (x > 0) call add(v - 1)
    if (x < side - 1) call add(v + 1)
    if (y < side - 1) call add(v + side)
    rows(v + 1) = e
  end do
  graph%n = n
  graph%rows = c_loc(rows)
  graph%targets = c_loc(targets)
  call hopbytes_default_options(options)
  options%machine = c_loc(machine)
  status = hopbytes_map(graph, options, part, found)
  if (status < 0) error stop "hopbytes refused the graph"
  print '(a, i0, a, i0, a, i0, a, i0)', "cost ", found%cost, " cut ", found%cut, &
    " blocks ", minval(part), " to ", maxval(part)

contains

  subroutine add(neighbour)
    integer, intent(in) :: neighbour
    targets(e) = neighbour
    e = e + 1
  end subroutine
end program
