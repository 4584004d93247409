! The shortest training run there is: a 2-4-1 network learns exclusive or.
!
!   xor
!
! docs/learn.md says how it is compiled.
program xor
  use dumbtorch
  implicit none
  integer, parameter :: points(2, 4) = reshape([0, 0, 0, 1, 1, 0, 1, 1], [2, 4])
  integer, parameter :: wanted(4, 1) = reshape([0, 1, 1, 0], [4, 1])
  type(tensor) :: x, y, loss
  type(module) :: model
  type(optimizer) :: sgd
  real :: answers(4, 1)
  integer :: epoch, i

  call manual_seed(0)
  x = to(from_array(transpose(points)), dtype=dtype_float32)
  x = contiguous(x)  ! row by row, as elsewhere: sums in another order would round otherwise
  y = to(from_array(wanted), dtype=dtype_float32)

  model = nn_sequential()
  call model%append(nn_linear(2, 4))
  call model%append(nn_tanh())
  call model%append(nn_linear(4, 1))
  sgd = optim_sgd(model%parameters(), lr=0.1d0)
  do epoch = 1, 1000
    call sgd%zero_grad()
    loss = mse_loss(model%forward(x), y)
    call loss%backward()
    call sgd%step()
    if (mod(epoch, 100) == 0) print '(a, i0, a, f8.6)', 'epoch ', epoch, ' loss ', loss%item()
  end do

  call set_grad_enabled(.false.)
  y = model%forward(x)
  call y%to_array(answers)
  do i = 1, 4
    print '(i0, a, i0, a, f5.3)', points(1, i), ' xor ', points(2, i), ' = ', answers(i, 1)
  end do
end program
