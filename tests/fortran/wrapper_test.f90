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

  function in_use() result(bytes)
    integer(int64) :: bytes, reserved, peak
    call memory_stats(bytes, reserved, peak)
  end function

  function big(number) result(x)
    real(real64), intent(in) :: number
    type(tensor) :: x
    x = full([large], number, dtype=dtype_uint8)
  end function

  subroutine errors()
    type(tensor) :: x, y
    call begin_case('errors')
    x = ones([2, 3])
    y = matmul(x, x, stat=stat, errmsg=message)
    call expect_error('matmul: mat1 and mat2 shapes cannot be multiplied (2x3 and 2x3)')
    call expect_true(stat == status_runtime_error, 'stat')
    call expect_true(.not. y%is_set(), 'what a failed call gives')
    y = sum(x, stat=stat)
    call expect_true(stat == 0, 'stat of a call that went well')
    y = relu(y, stat=stat)
    y = x%grad()
    call expect_true(.not. y%is_set(), 'a gradient that is not there')
    y = relu(y, stat=stat, errmsg=message)
    call expect_error('input')
    y = sum(x, dim=[1.5], stat=stat, errmsg=message)
    call expect_error('sum: dim must be a list of integers')
    y = narrow(x, 0.5, 0, 1, stat=stat, errmsg=message)
    call expect_error('narrow: dim must be an integer')
    y = narrow(x, [0], 0, 1, stat=stat, errmsg=message)
    call expect_error('narrow: dim must be an integer')
    y = full([2], x, stat=stat, errmsg=message)
    call expect_error('full: fill_value must be a number')
    y = add(x, (1.0, 2.0), stat=stat, errmsg=message)
    call expect_error('add: other must be a tensor or a number')
    y = ones([2], device='tpu', stat=stat, errmsg=message)
    call expect_error('tpu')
  end subroutine

  subroutine defaults()
    type(tensor) :: x
    type(module) :: layer
    type(tensor), allocatable :: parameters(:)
    call begin_case('defaults')
    layer = nn_linear(3_int64, 2, bias=.false., dtype=dtype_float64)
    parameters = layer%parameters()
    call expect_true(size(parameters) == 1, 'the number of parameters without bias')
    call expect_true(parameters(1)%dtype() == dtype_float64, 'dtype of parameters')
    x = from_array([-1.0, 3.0])
    call expect(clamp(x, max=x), dtype_float32, [2], [-1d0, 3d0])
    call expect_true(x%device() == 'cpu', 'device')
    x = full([2], .true.)
    call expect_true(x%dtype() == dtype_bool .and. x%dim() == 1, 'a tensor of a logical')
  end subroutine

  subroutine operators()
    type(tensor) :: x
    real(real64), parameter :: a(3) = [1d0, -2d0, 4d0], yes = 1, no = 0
    call begin_case('operators')
    x = from_array(a)
    call expect(x + x - 2 * x * 0.5d0, dtype_float64, [3], a)
    call expect(1 - x, dtype_float64, [3], 1 - a)
    call expect(8.0 / x, dtype_float64, [3], 8 / a)
    call expect(x / 4_int64, dtype_float64, [3], a / 4)
    call expect(-x**2, dtype_float64, [3], -a**2)
    call expect(2**x, dtype_float64, [3], 2**a)
    call expect(x > 0, dtype_bool, [3], [yes, no, yes])
    call expect(1 >= x, dtype_bool, [3], [yes, yes, no])
    call expect(x == x .and. .not. (x /= 1), dtype_bool, [3], [yes, no, no])
    call expect(exp(x), dtype_float64, [3], exp(a))
    call expect(sum(abs(x)), dtype_float64, [integer ::], [sum(abs(a))])
  end subroutine

  subroutine arrays()
    integer :: i
    real(real32) :: matrix(2, 3), back(2, 3)
    integer(int32) :: vector(6) = [(i, i=1, 6)], few(2)
    integer(int64) :: cube(2, 1, 3), number
    real(real64) :: wide(4, 2, 3, 2)
    type(tensor) :: x
    call begin_case('arrays')
    matrix = reshape([1, 2, 3, 4, 5, 6], [2, 3])
    x = from_array(matrix)
    call expect(x, dtype_float32, [2, 3], [1d0, 3d0, 5d0, 2d0, 4d0, 6d0])
    call expect_true(all(x%stride() == [1, 2]), 'strides')
    call expect(select(x, 0, 1), dtype_float32, [3], real(matrix(2, :), real64))
    matrix = 0
    call x%to_array(back)
    call expect_true(all(nint(back) == reshape([1, 2, 3, 4, 5, 6], [2, 3])), 'what comes back')
    call expect(from_array(vector(2:6:2)), dtype_int32, [3], [2d0, 4d0, 6d0])
    x = from_array(vector(6:1:-1), stat=stat, errmsg=message)
    call expect_error('negative')
    x = from_array(matrix)
    call x%to_array(vector(1:2), stat=stat, errmsg=message)
    call expect_error('shape')
    x = from_array([8, 9])
    call x%to_array(vector(4:6:2))
    call x%to_array(few)
    call expect_true(all(vector == [1, 2, 3, 8, 5, 9]) .and. all(few == [8, 9]), 'a section')
    cube = 7
    cube(2, 1, 3) = 8589934592_int64
    x = from_array(cube)
    call expect_true(x%dtype() == dtype_int64 .and. all(x%shape() == shape(cube)), 'a cube')
    x = max(x)
    call x%to_array(number)
    call expect_true(number == 8589934592_int64, 'a number')
    wide = reshape([(real(i, real64), i=1, size(wide))], shape(wide))
    x = from_array(wide)
    call expect(select(select(select(x, 3, 1), 2, 0), 1, 1), dtype_float64, [4], wide(:, 2, 1, 2))
    call expect(from_array(matrix(:, 1:0)), dtype_float32, [2, 0], [real(real64) ::])
    x = from_array([.true.], stat=stat, errmsg=message)
    call expect_error('real32, real64 or integers')
    call expect(from_array([1_int8, -2_int8]), dtype_int8, [2], [1d0, -2d0])
    x = from_array([1_int16, -300_int16])
    call expect(x, dtype_int16, [2], [1d0, -300d0])
    call x%to_array(few)
    call expect_true(all(few == [1, -300]), 'what int16 becomes')
  end subroutine

  ! No variable, result or copy holds memory longer than it lives, and none loses it earlier.
  subroutine lifetimes()
    integer(int64) :: before
    call begin_case('lifetimes')
    before = in_use()
    call variables()
    call expect_true(in_use() == before, 'memory after variables')
    call lists()
    call expect_true(in_use() == before, 'memory after lists')
    call structures()
    call copies_of_bits()
    call expect_true(in_use() == before, 'memory after structures')
  end subroutine

  subroutine variables()
    type(tensor) :: x, y
    integer(int64) :: before, one
    integer :: i
    before = in_use()
    x = big(1d0)
    one = in_use() - before
    y = x
    x = big(2d0)
    call expect_true(one > large .and. in_use() == before + 2 * one, 'memory of two tensors')
    call expect_true(y%is_same(y) .and. nint(item(y)) == 1, 'a copy')
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
    call expect_true(nint(item(y)) == 5, 'an argument that comes out')
    call expect_true(nint(item(tail(big(3d0), big(4d0)))) == 7, 'results as arguments')
    call x%release()
    call expect_true(in_use() == before + one .and. .not. x%is_set(), 'what was released')
  end subroutine

  real(real64) function item(x)
    type(tensor), intent(in) :: x
    type(tensor) :: one
    one = select(x, 0, 0)
    item = one%item()
  end function

  subroutine renew(x)
    type(tensor), intent(out) :: x
    x = big(5d0)
  end subroutine

  function tail(x, y) result(z)
    type(tensor), intent(in) :: x
    type(tensor), intent(in), optional :: y
    type(tensor) :: z
    z = x + 0
    if (present(y)) z = z + y * 1
  end function

  subroutine lists()
    type(tensor) :: x
    type(tensor), allocatable :: list(:)
    x = big(6d0)
    list = chunk(x, 4)
    list = [list(3), list(1)]
    list = [list, x]
    x = cat(list)
    call expect_true(x%numel() == 3 * large / 2 .and. size(list) == 3, 'a list')
    call expect_true(nint(item(list(2))) == 6, 'an entry')
    list = chunk(cat([x, x]), 2)
    call expect_true(list(1)%numel() == 3 * large / 2, 'an entry of another list')
  end subroutine

  subroutine structures()
    type(pair) :: a, b
    a = make_pair()
    b = a
    a%first = big(0d0)
    a = b
    b = make_pair()
    call expect_true(nint(item(a%first + a%second)) == 3, 'a structure')
  end subroutine

  ! Every thread has variables of its own, and all share a tensor.
  subroutine threads()
    type(tensor) :: common
    integer(int64) :: before
    integer :: i, wrong
    call begin_case('threads')
    before = in_use()
    common = ones([64, 64])
    wrong = 0
    !$omp parallel do num_threads(4) reduction(+:wrong)
    do i = 1, 5000
      wrong = wrong + work(common, i)
    end do
    !$omp end parallel do
    call expect_true(wrong == 0, 'what threads compute')
    call common%release()
    call expect_true(in_use() == before, 'memory after threads')
  end subroutine

  function work(common, i) result(wrong)
    type(tensor), intent(in) :: common
    integer, intent(in) :: i
    integer :: wrong, status
    type(tensor) :: x, y
    character(200) :: text
    y = common
    x = max(matmul(full([64, 64], real(i)), y))
    wrong = merge(0, 1, nint(x%item()) == 64 * i)
    x = matmul(y, ones([10**mod(i, 6), 1]), stat=status, errmsg=text)
    if (index(text, 'multiplied (64x64 and 1') == 0 .or. index(text, 'x1)') == 0) wrong = wrong + 1
    if (status == 0) wrong = wrong + 1
  end function

  ! What gfortran copies bit by bit lives as long as the original; to use it later is an error.
  subroutine copies_of_bits()
    type(tensor), allocatable :: list(:)
    type(tensor) :: few(2), x
    list = chunk(big(1d0), 2)
    few = list
    call expect_true(nint(item(few(1))) == 1, 'a copy of bits')
    deallocate (list)
    x = relu(few(2), stat=stat, errmsg=message)
    call expect_error('released')
    x = few(1)
    x = relu(x, stat=stat, errmsg=message)
    call expect_error('released')
    x = big(1d0)
    list = chunk(x, 2)
    few(1) = list(1)
    deallocate (list)
    call expect_true(nint(item(few(1))) == 1, 'what was assigned by itself')
  end subroutine

  function make_pair() result(made)
    type(pair) :: made
    made%first = big(1d0)
    made%second = big(2d0)
  end function

  subroutine hooks()
    type(tensor) :: x, loss, y
    type(tensor), allocatable :: outputs(:)
    type(hook) :: handle
    call begin_case('hooks')
    x = from_numbers([2d0, 3d0], requires_grad=.true.)
    handle = x%register_hook(tenfold)
    loss = sum(x)
    call loss%backward()
    call expect(x%grad(), dtype_float32, [2], [10d0, 10d0])
    call handle%remove()
    call x%set_grad()
    y = square(detach(x))
    outputs = custom_function('Square', [x], [y], [x], square_backward)
    loss = sum(outputs(1))
    call loss%backward()
    call expect(x%grad(), dtype_float32, [2], [4d0, 6d0])
    call set_grad_enabled(.false.)
    y = x * 2
    call expect_true(.not. y%requires_grad(), 'requires_grad')
    call set_grad_enabled(.true.)
  end subroutine

  subroutine test_autocast()
    type(tensor) :: x, y
    call begin_case('autocast')
    x = from_numbers([2d0, 3d0], requires_grad=.true.)
    call autocast_begin(device_type_cpu, dtype=dtype_float16)
    y = matmul(x, x)
    call autocast_end()
    call expect(y, dtype_float16, [integer ::], [13d0])
  end subroutine

  subroutine tenfold(grad, out)
    type(tensor), intent(in) :: grad
    type(tensor), intent(inout) :: out
    out = grad * 10
  end subroutine

  subroutine square_backward(grads, saved, out)
    type(tensor), intent(in) :: grads(:), saved(:)
    type(tensor), allocatable, intent(out) :: out(:)
    type(tensor) :: grad
    grad = grads(1) * saved(1) * 2
    out = [grad]
  end subroutine

  subroutine files()
    character(:), allocatable :: names(:)
    type(tensor), allocatable :: tensors(:)
    type(tensor) :: x
    character(1000) :: program_path
    character(:), allocatable :: path
    integer :: unit
    call begin_case('files')
    call get_command_argument(0, program_path)
    path = trim(program_path) // '.safetensors'
    x = arange(0, 6)
    call save_safetensors(path, ['a     ', 'second'], [x, x], progress=stop_at_once, stat=stat, &
      errmsg=message)
    call expect_error('asked to stop')
    call save_safetensors(path, ['a     ', 'second'], [x, x])
    call load_safetensors(path, names, tensors, only=['second'])
    call expect_true(size(names) == 1 .and. names(1) == 'second', 'names')
    call expect(tensors(1), dtype_int64, [6], [0d0, 1d0, 2d0, 3d0, 4d0, 5d0])
    open (newunit=unit, file=path)
    close (unit, status='delete')
  end subroutine

  subroutine stop_at_once(done, total, stop)
    integer(int64), intent(in) :: done, total
    logical, intent(out) :: stop
    stop = done <= total
  end subroutine
end module

program wrapper_test
  use check
  use wrapper_cases
  implicit none
  call errors()
  call defaults()
  call operators()
  call arrays()
  call lifetimes()
  call threads()
  call hooks()
  call test_autocast()
  call files()
  call finish_cases()
end program
