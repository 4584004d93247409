! Comparing the results of calls: what conformance_test.f90 and wrapper_test.f90 are made of.
module check
  use, intrinsic :: iso_c_binding, only: c_int
  use, intrinsic :: iso_fortran_env, only: int8, int16, int32, int64, real32, real64
  use dumbtorch
  implicit none

  integer :: stat
  character(300) :: message
  character(:), allocatable :: current  ! the case
  !$omp threadprivate(stat, message)
  integer(c_int), bind(c) :: memory_is_full = 0  ! memory.c

contains

  subroutine expect_true(condition, what)
    logical, intent(in) :: condition
    character(*), intent(in) :: what
    if (.not. condition) error stop current // ': ' // what // ' differs'
  end subroutine

  subroutine expect_error(text)
    character(*), intent(in) :: text
    call expect_true(stat /= 0 .and. index(message, text) > 0, trim(message) // ' for ' // text)
  end subroutine

  subroutine expect(x, dtype, shape, numbers)
    type(tensor), intent(in) :: x
    integer, intent(in) :: dtype, shape(:)
    real(real64), intent(in) :: numbers(:)
    real(real64) :: tolerance
    call expect_true(x%dtype() == dtype, 'dtype')
    call expect_true(x%dim() == size(shape), 'the number of dimensions')
    call expect_true(all(x%shape() == shape), 'shape')
    tolerance = merge(1e-8_real64, 1e-5_real64, dtype == dtype_float64)
    call expect_true(all(abs(to_numbers(x) - numbers) <= tolerance * (1 + abs(numbers))), 'numbers')
  end subroutine
end module
