! A program that learns while it simulates: a network replaces the costly part of a solver.
!
!   surrogate [steps] [folder for the network]
!
! A pendulum with friction is followed by the method of Runge and Kutta with 100 small steps for
! each output; its outputs train a network that does the same at once, and takes the solver's place.
! The programs in examples/python and examples/c are the same and print the same. docs/learn.md says
! how it is compiled.
program surrogate
  use, intrinsic :: iso_fortran_env, only: real64
  use dumbtorch
  implicit none
  integer, parameter :: batch = 64
  real(real64), parameter :: step_length = 0.1d0, friction = 0.2d0
  type(module) :: network
  integer :: steps
  character(:), allocatable :: text, path

  text = argument(1, '1000')
  read (text, *) steps
  path = argument(2, '.') // '/pendulum.safetensors'
  call manual_seed(0)
  network = make_network()
  call train(steps)
  call network%save(path)

  network = make_network()
  call network%load(path)
  call compare()

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

  ! Angle and speed step_length seconds later. The speed changes by -sin(angle) - friction * speed.
  function solve(state) result(s)
    real(real64), intent(in) :: state(2)
    real(real64) :: s(2), h, a1, a2, a3, a4, v2, v3, v4
    integer :: i
    s = state
    h = step_length / 100
    do i = 1, 100
      a1 = -sin(s(1)) - friction * s(2)
      v2 = s(2) + h / 2 * a1
      a2 = -sin(s(1) + h / 2 * s(2)) - friction * v2
      v3 = s(2) + h / 2 * a2
      a3 = -sin(s(1) + h / 2 * v2) - friction * v3
      v4 = s(2) + h * a3
      a4 = -sin(s(1) + h * v3) - friction * v4
      s(1) = s(1) + h / 6 * (s(2) + 2 * v2 + 2 * v3 + v4)
      s(2) = s(2) + h / 6 * (a1 + 2 * a2 + 2 * a3 + a4)
    end do
  end function

  function make_network() result(made)
    type(module) :: made
    made = nn_sequential()
    call made%append(nn_linear(2, 32))
    call made%append(nn_tanh())
    call made%append(nn_linear(32, 32))
    call made%append(nn_tanh())
    call made%append(nn_linear(32, 2))
  end function

  ! Each step: solve from new random states, and learn how they change.
  subroutine train(steps)
    integer, intent(in) :: steps
    type(optimizer) :: adam
    type(lr_scheduler) :: schedule
    type(tensor) :: states, loss
    real :: start(batch, 2), change(batch, 2)
    integer :: step, i
    adam = optim_adam(network%parameters(), lr=0.005d0)
    schedule = optim_cosine_annealing_lr(adam, steps)
    do step = 1, steps
      states = empty([batch, 2])
      call uniform_(states, low=-2d0, high=2d0)
      call states%to_array(start)
      do i = 1, batch
        change(i, :) = real(solve(real(start(i, :), real64)) - real(start(i, :), real64))
      end do
      call adam%zero_grad()
      loss = mse_loss(network%forward(states), contiguous(from_array(change)) / step_length)
      call loss%backward()
      call adam%step()
      call schedule%step()
      if (step == 1 .or. mod(step, max(steps / 10, 1)) == 0) then
        print '(a, i0, a, f8.6)', 'step ', step, ' loss ', loss%item()
      end if
    end do
  end subroutine

  ! What solve() gives, as the network has learned it.
  function foretell(state) result(s)
    real(real64), intent(in) :: state(2)
    real(real64) :: s(2)
    type(tensor) :: change
    real :: found(1, 2)
    change = network%forward(from_array(reshape(real(state), [1, 2])))
    call change%to_array(found)
    s = state + step_length * real(found(1, :), real64)
  end function

  subroutine compare()
    real(real64) :: exact(2), guess(2), farthest
    integer :: i
    exact = [1.5d0, 0d0]
    guess = exact
    farthest = 0
    call set_grad_enabled(.false.)
    do i = 1, 100
      exact = solve(exact)
      guess = foretell(guess)
      farthest = max(farthest, abs(exact(1) - guess(1)))
      if (mod(i, 10) == 0) then
        print '(a, f4.1, a, f7.4, a, f7.4)', 't ', i * step_length, '  solver ', exact(1), &
          '  network ', guess(1)
      end if
    end do
    print '(a, f6.4)', 'farthest apart ', farthest
  end subroutine
end program
