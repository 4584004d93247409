! What the generated procedures share: objects, errors, arrays, how results come out. The generator
! puts its declarations before `contains`, those of what is in bridge.c too, and its procedures
! behind all others. Addresses are integers.
module dumbtorch_functions
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: int32, int64, real32, real64
  implicit none
  private
  public :: assignment(=)

  ! A handle of the library. gfortran copies components bit by bit, and finalizes the copies, in
  ! places where a defined assignment is due, such as array constructors. A handle knows its place
  ! in memory therefore: a copy elsewhere releases nothing, and may be used as long as the original
  ! is there.
  type :: handle
    integer(c_int64_t) :: bits = 0, place = 0
  contains
    final :: give_up
  end type

  ! What all classes are. The handle is a component that is allocated, because gfortran 12 finalizes
  ! those of function results, but not the results themselves.
  type :: object
    private
    type(handle), allocatable :: handle
  contains
    procedure :: is_set
    procedure :: release
  end type

  ! A call in the making, as in wrappers/table/frame.h.
  type, bind(c) :: frame
    integer(c_int64_t) :: function, lent, message, status, callback, user_data, taken(0:15), &
      few(0:15), given(0:63)
  end type

contains

  ! ---- objects

  impure elemental subroutine hold(x, bits)
    class(object), intent(inout), target :: x
    integer(int64), intent(in) :: bits
    if (.not. allocated(x%handle)) allocate (x%handle)
    call give_up(x%handle)
    x%handle%bits = bits
    x%handle%place = transfer(c_loc(x%handle), bits)
  end subroutine

  impure elemental subroutine give_up(h)
    type(handle), intent(inout), target :: h
    if (h%place == transfer(c_loc(h), h%place)) call dt_handle_release(h%bits)
    h%bits = 0
  end subroutine

  impure elemental integer(int64) function handle_of(x)
    class(object), intent(in) :: x
    handle_of = 0
    if (allocated(x%handle)) handle_of = x%handle%bits
  end function

  ! `from` may be `to`, or a copy of its bits. An assignment has no stat: what fails ends the
  ! program.
  impure elemental subroutine copy_object(to, from)
    class(object), intent(inout) :: to
    class(object), intent(in) :: from
    integer(int64) :: bits
    bits = dtf_alias(handle_of(from))
    if (bits == 0 .and. from%is_set()) error stop 'assignment: out of memory'
    call hold(to, bits)
  end subroutine

  ! Whether the variable holds an object.
  logical function is_set(this)
    class(object), intent(in) :: this
    is_set = handle_of(this) /= 0
  end function

  ! Gives the object up now, not when the variable goes.
  subroutine release(this)
    class(object), intent(inout) :: this
    call hold(this, 0_int64)
  end subroutine

  ! ---- calls

  ! What fails is told by stat and errmsg, or ends the program.
  subroutine run(f, stat, errmsg)
    type(frame), intent(inout) :: f
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    character(:), allocatable :: text
    integer :: status
    status = dtf_run(f)
    if (present(stat)) stat = status
    if (status == 0) return
    call take_text(text, f%message, strlen(f%message))
    if (present(errmsg)) errmsg = text
    if (.not. present(stat)) error stop text
  end subroutine

  ! ---- results

  ! No function: of text that one gives, gfortran keeps the length in a place that threads share.
  subroutine take_text(text, address, length)
    character(:), allocatable, intent(out) :: text
    integer(int64), intent(in) :: address, length
    character(length), pointer :: there
    call c_f_pointer(transfer(address, c_null_ptr), there)
    text = there
  end subroutine
