! A CNN on real images, trained by hand: zero_grad, forward, loss, backward, step. The programs of
! the other languages are the same and print the same losses and accuracy.
!
!   train_cnn [folder with the four IDX files] [steps] [cpu or cuda]
!
! docs/learn.md says how it is compiled.
program train_cnn
  use, intrinsic :: iso_fortran_env, only: int64, real64
  use dumbtorch
  implicit none
  integer, parameter :: batch = 64
  type(tensor) :: images, labels, test_images, test_labels, x, target, loss
  type(module) :: model
  type(optimizer) :: adam
  type(lr_scheduler) :: schedule
  integer(int64) :: first, count
  integer :: step, steps
  character(:), allocatable :: text

  text = argument(2, '100')
  read (text, *) steps
  call set_default_device(argument(3, 'cpu'))
  images = read_file('train-images-idx3', dtype_float32)
  labels = read_file('train-labels-idx1', dtype_int64)
  images = unsqueeze(images / 255, 1)
  test_images = read_file('t10k-images-idx3', dtype_float32)
  test_images = unsqueeze(test_images / 255, 1)
  test_labels = read_file('t10k-labels-idx1', dtype_int64)

  call manual_seed(0)
  model = make_model()
  adam = optim_adam(model%parameters(), lr=0.003d0)
  schedule = optim_cosine_annealing_lr(adam, steps)
  count = labels%size(0)
  do step = 0, steps - 1
    first = mod(int(step, int64) * batch, count - batch)
    x = narrow(images, 0, first, batch)
    target = narrow(labels, 0, first, batch)
    call adam%zero_grad()
    loss = cross_entropy(model%forward(x), target)
    call loss%backward()
    call adam%step()
    call schedule%step()
    if (mod(step, 10) == 0 .or. step == steps - 1) then
      print '(a, i0, a, f6.4)', 'step ', step, ' loss ', loss%item()
    end if
  end do
  print '(a, f5.2, a)', 'test accuracy ', accuracy(), ' %'

contains

  ! The share of images that it knows, in percent.
  function accuracy() result(percent)
    real(real64) :: percent
    integer(int64), parameter :: piece = 1000
    integer(int64) :: n
    type(tensor) :: guess
    percent = 0
    count = test_labels%size(0)
    call set_grad_enabled(.false.)
    do first = 0, count - 1, piece
      n = min(piece, count - first)
      x = narrow(test_images, 0, first, n)
      guess = argmax(model%forward(x), 1)
      guess = sum(eq(guess, narrow(test_labels, 0, first, n)))
      percent = percent + guess%item()
    end do
    percent = 100 * percent / count
  end function

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
