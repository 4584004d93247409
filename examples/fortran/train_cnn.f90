! A CNN on real images, trained by hand: zero_grad, forward, loss, backward, step. The programs of
! the other languages are the same and print the same losses.
!
!   train_cnn [folder with the four IDX files] [steps] [cpu or cuda]
!
! docs/learn.md says how it is compiled.
program train_cnn
  use, intrinsic :: iso_fortran_env, only: int64
  use dumbtorch
  implicit none
  integer, parameter :: batch = 64
  type(tensor) :: images, labels, x, target, loss
  type(module) :: model
  type(optimizer) :: adam
  integer(int64) :: first, count
  integer :: step, steps
  character(:), allocatable :: text

  text = argument(2, '100')
  read (text, *) steps
  call set_default_device(argument(3, 'cpu'))
  images = read_file('train-images-idx3', dtype_float32)
  labels = read_file('train-labels-idx1', dtype_int64)
  images = unsqueeze(images / 255, 1)

  call manual_seed(0)
  model = make_model()
  adam = optim_adam(model%parameters(), lr=0.001d0)
  count = labels%size(0)
  do step = 0, steps - 1
    first = mod(int(step, int64) * batch, count - batch)
    x = narrow(images, 0, first, batch)
    target = narrow(labels, 0, first, batch)
    call adam%zero_grad()
    loss = cross_entropy(model%forward(x), target)
    call loss%backward()
    call adam%step()
    if (mod(step, 10) == 0 .or. step == steps - 1) then
      print '(a, i0, a, f6.4)', 'step ', step, ' loss ', loss%item()
    end if
  end do

contains

  function argument(i, default) result(given)
    integer, intent(in) :: i
    character(*), intent(in) :: default
    character(:), allocatable :: given
    character(4096) :: words
    call get_command_argument(i, words)
    given = trim(words)
    if (given == '') given = default
  end function

  function read_file(name, dtype) result(data)
    character(*), intent(in) :: name
    integer, intent(in) :: dtype
    type(tensor) :: data
    character(:), allocatable :: folder
    folder = argument(1, '/usr/share/datasets/fashion-mnist')
    data = read_idx(folder // '/' // name // '-ubyte.gz')
    data = to(data, device=argument(3, 'cpu'), dtype=dtype)
  end function

  function make_model() result(made)
    type(module) :: made
    made = nn_sequential()
    call made%append(nn_conv2d(1, 8, [3], padding=[1]))
    call made%append(nn_relu())
    call made%append(nn_max_pool2d([2]))
    call made%append(nn_conv2d(8, 16, [3], padding=[1]))
    call made%append(nn_relu())
    call made%append(nn_max_pool2d([2]))
    call made%append(nn_flatten())
    call made%append(nn_linear(784, 64))
    call made%append(nn_relu())
    call made%append(nn_linear(64, 10))
  end function
end program
