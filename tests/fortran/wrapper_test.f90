! What the runtime does.
module wrapper_cases
  use, intrinsic :: iso_fortran_env, only: int8, int16, int32, int64, real32, real64
  use check
  use dumbtorch
  implicit none

  type :: pair
    type(tensor) :: first, second
  end type

  integer(int64), parameter :: large = 4096  ! elements of a tensor whose memory is waited for

contains

  subroutine errors()
    type(tensor) :: x, y
    current = 'errors'
    x = ones([2, 3], device='cpu  ')  ! text ends before its blanks
    y = matmul(x, x, stat=stat)
    call expect_true(stat == status_runtime_error .and. .not. y%is_set(), 'a failed call')
    y = relu(x%grad(stat=stat), errmsg=message, stat=stat)
    call expect_error('input')
    x = 8.0 / (1_int64 - full([1_int64], 3) - 0.5)  ! numbers of the other kinds
    call expect(x, dtype_float32, [1], [-3.2d0])
  end subroutine

  subroutine arrays()
    integer :: i, vector(6) = [(i, i=1, 6)], few(2)
    real(real32) :: matrix(2, 3)
    real(real64) :: wide(4, 2, 3, 2)
    integer(int64) :: number
    type(tensor) :: x
    current = 'arrays'
    matrix = reshape([1, 2, 3, 4, 5, 6], [2, 3])
    x = from_array(matrix)
    matrix = 0
    call expect(x, dtype_float32, [2, 3], [1d0, 3d0, 5d0, 2d0, 4d0, 6d0])
    call expect_true(all(x%stride() == [1, 2]), 'strides')
    call x%to_array(matrix)
    call expect_true(all(nint(matrix) == reshape(vector, [2, 3])), 'what comes back')
    wide = reshape([(real(i, real64), i=1, size(wide))], shape(wide))
    x = from_array(wide)
    call expect(select(select(select(x, 3, 1), 2, 0), 1, 1), dtype_float64, [4], wide(:, 2, 1, 2))
    call expect(from_array(matrix(:, 1:0)), dtype_float32, [2, 0], [real(real64) ::])
    call expect(from_array(vector(2:6:2)), dtype_int32, [3], [2d0, 4d0, 6d0])
    call expect(from_array([1_int8, -2_int8]), dtype_int8, [2], [1d0, -2d0])
    x = from_array([8_int16, -300_int16])
    call x%to_array(vector(4:6:2))
    call x%to_array(few)
    call expect_true(all(vector == [1, 2, 3, 8, 5, -300]) .and. all(few == [8, -300]), 'a section')
    x = max(from_array([8589934592_int64]))
    call x%to_array(number)
    call expect_true(number == 8589934592_int64 .and. x%dtype() == dtype_int64, 'a number')
    x = from_array(vector(6:1:-1), stat=stat, errmsg=message)
    call expect_error('negative')
    x = from_array([.true.], stat=stat, errmsg=message)
    call expect_error('of reals of 4 or 8 bytes, or of integers')
    x = from_array(matrix)
    call x%to_array(vector(1:2), stat=stat, errmsg=message)
    call expect_error('shape')
  end subroutine

  ! ---- no variable, result or copy holds memory longer than it lives, and none loses it earlier

  integer(int64) function in_use()
    integer(int64) :: reserved, peak
    call memory_stats(in_use, reserved, peak)
  end function

  function big(number) result(x)
    real(real64), intent(in) :: number
    type(tensor) :: x
    x = full([large], number, dtype=dtype_uint8)
  end function

  integer function item(x)
    type(tensor), intent(in) :: x
    type(tensor) :: one
    one = select(x, 0, 0)
    item = nint(one%item())
  end function

  subroutine variables()
    type(tensor) :: x, y
    integer(int64) :: before, one
    integer :: i
    current = 'variables'
    before = in_use()
    x = big(1d0)
    one = in_use() - before
    y = x
    x = big(2d0)
    call expect_true(one > large .and. in_use() == before + 2 * one, 'memory of two tensors')
    call expect_true(y%is_same(y) .and. item(y) == 1, 'a copy')
    y = y
    do i = 1, 10
      y = relu(x + relu(y) + x) * big(0d0)
      block
        type(tensor) :: z
        z = y + 1
      end block
    end do
    call expect_true(in_use() == before + 2 * one, 'memory of a loop')
    call renew(y)
    call expect_true(item(y) == 5, 'an argument that comes out')
    call x%release()
    call expect_true(in_use() == before + one .and. .not. x%is_set(), 'what was released')
  end subroutine

  subroutine renew(x)
    type(tensor), intent(out) :: x
    x = big(5d0)
  end subroutine

  ! What gfortran copies bit by bit lives as long as the original; to use it later is an error.
  subroutine copies()
    type(tensor), allocatable :: list(:)
    type(tensor) :: few(2), x
    type(pair) :: a, b
    current = 'copies'
    a%first = big(1d0)
    a%second = big(2d0)
    b = a
    a%first = big(0d0)
    call expect_true(item(b%first + b%second) == 3, 'a structure')
    list = chunk(b%first, 4)
    list = [list(3), list(1)]
    list = [list, b%second]
    x = cat(list)
    call expect_true(x%numel() == 3 * large / 2 .and. item(list(3)) == 2, 'a list')
    few = list(:2)
    call expect_true(item(few(1)) == 1, 'a copy of bits')
    deallocate (list)
    x = relu(few(2), stat=stat, errmsg=message)
    call expect_error('released')
    x = few(1)
    x = relu(x, stat=stat, errmsg=message)
    call expect_error('released')
    list = chunk(a%second, 2)
    few(1) = list(1)
    deallocate (list)
    call expect_true(item(few(1)) == 2, 'what was assigned by itself')
  end subroutine

end module

program wrapper_test
  use wrapper_cases
  implicit none
  integer(int64) :: before
  call errors()
  call arrays()
  before = in_use()
  call variables()
  call copies()
  call expect_true(in_use() == before, 'memory in the end')
  print '(a)', 'passed'
end program
