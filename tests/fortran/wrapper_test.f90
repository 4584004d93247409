! What the runtime does. An argument names an error that ends the program.
program wrapper_test
  use check
  implicit none

  type :: pair
    type(tensor) :: first, second
  end type
  character(10) :: argument

  call get_command_argument(1, argument)
  if (argument /= '') call fail(argument)
  call errors()
  call variables()
  call copies()
  call expect_true(live_handles('tensor') == 0, 'what is held in the end')
  print '(a)', 'passed'

contains

  subroutine errors()
    type(tensor) :: x, y
    current = 'errors'
    x = ones([2, 3], device='cpu  ')  ! text ends before its blanks
    y = matmul(x, x, stat=stat)
    call expect_true(stat == status_runtime_error .and. .not. y%is_set(), 'a failed call')
    y = relu(x%grad(stat=stat), errmsg=message, stat=stat)
    call expect_error('input')
    x = .true. * (8.0 / (1_int64 - full([1_int64], 3) - 0.5))  ! numbers of the other kinds
    call expect(x, dtype_float32, [1], [-3.2d0])
  end subroutine

  ! ---- no variable, result or copy holds a tensor longer than it lives, and none loses it earlier

  subroutine variables()
    type(tensor) :: x, y
    integer :: i
    current = 'variables'
    x = ones([1])
    y = x
    x = zeros([1])
    call expect(y, dtype_float32, [1], [1d0])
    y = y
    call expect_true(live_handles('tensor') == 2, 'what variables hold')
    do i = 1, 10
      y = relu(x + relu(y) + x) * ones([1])
      block
        type(tensor) :: z
        z = y + 1
      end block
    end do
    call expect_true(live_handles('tensor') == 2, 'what a loop holds')
    call renew(y)
    call expect(y, dtype_float32, [1], [5d0])
    call x%release()
    call expect_true(live_handles('tensor') == 1, 'what was released')
    call expect_true(y%is_set() .and. .not. x%is_set(), 'what is set')
  end subroutine

  subroutine renew(x)
    type(tensor), intent(out) :: x
    x = full([1], 5.0)
  end subroutine

  ! What gfortran copies bit by bit lives as long as the original; to use it later is an error.
  subroutine copies()
    type(tensor), allocatable :: list(:)
    type(tensor) :: few(2), x
    type(pair) :: a, b
    current = 'copies'
    a%first = ones([4])
    a%second = full([1], 2.0)
    b = a
    a%first = zeros([4])
    call expect(sum(b%first) + b%second, dtype_float32, [1], [6d0])
    list = chunk(b%first, 4)
    list = [list(3), list(1)]
    list = [list, b%second]
    call expect(cat(list), dtype_float32, [3], [1d0, 1d0, 2d0])
    few = list(:2)
    call expect(few(1), dtype_float32, [1], [1d0])
    deallocate (list)
    x = relu(few(2), stat=stat, errmsg=message)
    call expect_error('released')
    x = few(1)
    x = relu(x, stat=stat, errmsg=message)
    call expect_error('released')
    list = chunk(b%first, 2)
    few(1) = list(1)
    deallocate (list)
    call expect(few(1), dtype_float32, [2], [1d0, 1d0])
  end subroutine

  subroutine fail(how)
    character(*), intent(in) :: how
    type(tensor) :: x, copies(100000)
    integer :: i
    x = ones([2, 3])
    if (how == 'shapes') x = matmul(x, x)
    memory_is_full = 1
    do i = 1, size(copies)
      copies(i) = x
    end do
  end subroutine
end program
