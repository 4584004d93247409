! What the generated procedures share: objects, and how values go into a call and come out of it.
module dumbtorch_runtime
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: int32, int64, real32, real64
  implicit none
  private
  public :: object, copy_object, hold, handle_of
  public :: frame, dtf_begin, give, give_list, give_texts, give_procedure, finish, tell, dtf_end
  public :: dtf_hold, dtf_tensor, take_integers, take_reals, take_real
  public :: take_scalar, take_text, take_texts, take_device
  public :: dtf_lend, lent_text, dtf_give_back, dtf_give_back_list, dtf_from_array, dtf_to_array

  ! A share in an object of the library. gfortran copies components bit by bit, and finalizes the
  ! copies, in places where a defined assignment is due, such as array constructors. A share knows
  ! its place in memory therefore: a copy elsewhere gives nothing up, and may be used as long as the
  ! original is there.
  type :: share
    type(c_ptr) :: shared = c_null_ptr
    integer(c_int64_t) :: handle = 0
    integer(c_intptr_t) :: place = 0
  contains
    final :: give_up
  end type

  ! What all classes are. The share is a component that is allocated, because gfortran 12 finalizes
  ! those of function results, but not the results themselves.
  type :: object
    private
    type(share), allocatable :: share
  contains
    procedure :: is_set
    procedure :: release
  end type

  ! A call in the making, as in bridge.c.
  type, bind(c) :: frame
    type(c_ptr) :: function, lent, message
    integer(c_int64_t) :: status, args(0:63), results(0:7)
  end type

  integer(int32), parameter :: kind_bool = 1, kind_int = 2, kind_float = 3

  interface
    subroutine dtf_begin(f, i) bind(c)
      import
      type(frame), intent(out) :: f
      integer(c_int32_t), value :: i
    end subroutine
    subroutine dtf_end(f) bind(c)
      import
      type(frame), intent(inout) :: f
    end subroutine
    integer(c_int32_t) function dtf_run(f) bind(c)
      import
      type(frame), intent(inout) :: f
    end function
    subroutine dtf_refuse(f, i, wanted) bind(c)
      import
      type(frame), intent(inout) :: f
      integer(c_int32_t), value :: i
      character(kind=c_char), intent(in) :: wanted(*)
    end subroutine
    subroutine dtf_give_handle(f, i, handle) bind(c)
      import
      type(frame), intent(inout) :: f
      integer(c_int32_t), value :: i
      integer(c_int64_t), value :: handle
    end subroutine
    subroutine dtf_give_number(f, i, kind, bits) bind(c)
      import
      type(frame), intent(inout) :: f
      integer(c_int32_t), value :: i, kind
      integer(c_int64_t), value :: bits
    end subroutine
    subroutine dtf_give_text(f, i, text, length) bind(c)
      import
      type(frame), intent(inout) :: f
      integer(c_int32_t), value :: i
      character(kind=c_char), intent(in) :: text(*)
      integer(c_int64_t), value :: length
    end subroutine
    type(c_ptr) function dtf_give_list(f, i, n, integers) bind(c)
      import
      type(frame), intent(inout) :: f
      integer(c_int32_t), value :: i, integers
      integer(c_int64_t), value :: n
    end function
    subroutine dtf_put_text(f, list, i, text, length) bind(c)
      import
      type(frame), intent(inout) :: f
      type(c_ptr), value :: list
      character(kind=c_char), intent(in) :: text(*)
      integer(c_int64_t), value :: i, length
    end subroutine
    type(c_ptr) function dtf_hold(f, result, cell) bind(c)
      import
      type(frame), intent(in) :: f
      integer(c_int32_t), value :: result, cell
    end function
    integer(c_int64_t) function dtf_handle(shared) bind(c)
      import
      type(c_ptr), value :: shared
    end function
    type(c_ptr) function dtf_share(shared, handle) bind(c)
      import
      type(c_ptr), value :: shared
      integer(c_int64_t), value :: handle
    end function
    subroutine dtf_release(shared, handle) bind(c)
      import
      type(c_ptr), value :: shared
      integer(c_int64_t), value :: handle
    end subroutine
    type(c_ptr) function dtf_tensor(handle) bind(c)
      import
      integer(c_int64_t), value :: handle
    end function
    subroutine dtf_name_device(f, cell) bind(c)
      import
      type(frame), intent(inout) :: f
      integer(c_int32_t), value :: cell
    end subroutine
    type(c_ptr) function dtf_message(length) bind(c)
      import
      integer(c_int64_t), intent(out) :: length
    end function
    integer(c_int32_t) function dtf_from_array(array, shared) bind(c)
      import
      type(*), dimension(..), intent(in) :: array
      type(c_ptr), intent(out) :: shared
    end function
    integer(c_int32_t) function dtf_to_array(handle, array) bind(c)
      import
      integer(c_int64_t), value :: handle
      type(*), dimension(..), intent(inout) :: array
    end function
    type(c_ptr) function dtf_lend(handle) bind(c)
      import
      integer(c_int64_t), value :: handle
    end function
    integer(c_int64_t) function dtf_give_back(handle) bind(c)
      import
      integer(c_int64_t), value :: handle
    end function
    integer(c_int64_t) function dtf_give_back_list(handles, n) bind(c)
      import
      integer(c_int64_t), intent(in) :: handles(*)
      integer(c_int64_t), value :: n
    end function
    integer(c_int64_t) function strlen(text) bind(c)
      import
      type(c_ptr), value :: text
    end function
  end interface

contains

  ! ---- objects

  subroutine hold(x, shared)
    class(object), intent(inout) :: x
    type(c_ptr), intent(in) :: shared
    if (.not. allocated(x%share)) allocate (x%share)
    call give_up(x%share)
    x%share = share(shared, dtf_handle(shared), address_of(x%share))
  end subroutine

  function address_of(s) result(address)
    type(share), intent(in), target :: s
    integer(c_intptr_t) :: address
    address = transfer(c_loc(s), address)
  end function

  impure elemental subroutine give_up(s)
    type(share), intent(inout) :: s
    type(c_ptr) :: shared
    shared = s%shared
    s%shared = c_null_ptr
    if (s%place == address_of(s)) call dtf_release(shared, s%handle)
  end subroutine

  integer(int64) function handle_of(x)
    class(object), intent(in) :: x
    handle_of = 0
    if (allocated(x%share)) handle_of = x%share%handle
  end function

  ! `from` may be `to`, or a copy of its bits. If its object is gone, calls will say so of both.
  subroutine copy_object(to, from)
    class(object), intent(inout) :: to
    class(object), intent(in) :: from
    type(c_ptr) :: shared
    integer(int64) :: handle
    shared = c_null_ptr
    handle = handle_of(from)
    if (handle /= 0) shared = dtf_share(from%share%shared, handle)
    call hold(to, shared)
    to%share%handle = handle
  end subroutine

  ! Whether the variable holds an object.
  logical function is_set(this)
    class(object), intent(in) :: this
    is_set = handle_of(this) /= 0
  end function

  ! Gives the object up now, not when the variable goes.
  subroutine release(this)
    class(object), intent(inout) :: this
    call hold(this, c_null_ptr)
  end subroutine

  ! ---- calls

  ! Runs the call. What fails is told by stat and errmsg, or ends the program.
  subroutine finish(f, stat, errmsg)
    type(frame), intent(inout) :: f
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call tell(dtf_run(f), stat, errmsg)
  end subroutine

  subroutine tell(status, stat, errmsg)
    integer, intent(in) :: status
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    character(:), allocatable :: text
    integer(int64) :: n
    type(c_ptr) :: message
    if (present(stat)) stat = status
    if (status == 0) return
    message = dtf_message(n)
    text = text_at(message, n)
    if (present(errmsg)) errmsg = text
    if (.not. present(stat)) error stop text
  end subroutine

  function text_at(address, length) result(text)
    type(c_ptr), intent(in) :: address
    integer(int64), intent(in) :: length
    character(length) :: text
    character(length), pointer :: there
    call c_f_pointer(address, there)
    text = there
  end function

  subroutine give(f, i, value)
    type(frame), intent(inout) :: f
    integer, intent(in) :: i
    class(*), intent(in) :: value
    select type (value)
    class is (object)
      call dtf_give_handle(f, i, handle_of(value))
    type is (real(real32))
      call dtf_give_number(f, i, kind_float, transfer(real(value, real64), 0_int64))
    type is (real(real64))
      call dtf_give_number(f, i, kind_float, transfer(value, 0_int64))
    type is (integer(int32))
      call dtf_give_number(f, i, kind_int, int(value, int64))
    type is (integer(int64))
      call dtf_give_number(f, i, kind_int, value)
    type is (logical)
      call dtf_give_number(f, i, kind_bool, merge(1_int64, 0_int64, value))
    type is (character(*))
      call dtf_give_text(f, i, value, len(value, int64))
    class default
      call dtf_refuse(f, i, 'a tensor or a number' // c_null_char)
    end select
  end subroutine

  subroutine give_list(f, i, value)
    type(frame), intent(inout) :: f
    integer, intent(in) :: i
    class(*), intent(in) :: value(:)
    integer(int64), pointer :: words(:)
    integer(int32), pointer :: flags(:)
    type(c_ptr) :: room
    integer(int64) :: k, n
    integer(int32) :: integers
    n = size(value, kind=int64)
    integers = 0
    select type (value)
    type is (integer(int32))
      integers = 1
    type is (integer(int64))
      integers = 1
    end select
    room = dtf_give_list(f, i, n, integers)
    call c_f_pointer(room, words, [n])
    select type (value)
    class is (object)
      do k = 1, n
        words(k) = handle_of(value(k))
      end do
    type is (integer(int32))
      words = value
    type is (integer(int64))
      words = value
    type is (real(real64))
      words = transfer(value, words)
    type is (logical)
      call c_f_pointer(room, flags, [n])
      flags = merge(1, 0, value)
    end select
  end subroutine

  ! Apart, for gfortran 12 loses its way in arrays of text that are class(*).
  subroutine give_texts(f, i, value)
    type(frame), intent(inout) :: f
    integer, intent(in) :: i
    character(*), intent(in) :: value(:)
    type(c_ptr) :: room
    integer(int64) :: k
    room = dtf_give_list(f, i, size(value, kind=int64), 0)
    do k = 1, size(value, kind=int64)
      call dtf_put_text(f, room, k - 1, value(k), len(value, int64))
    end do
  end subroutine

  ! A callback's first cell is its user data: here, the procedure.
  subroutine give_procedure(f, cell, value)
    type(frame), intent(inout) :: f
    integer, intent(in) :: cell
    type(c_funptr), intent(in) :: value
    f%args(cell) = transfer(value, 0_int64)
  end subroutine

  ! ---- results: the one in place `result`, whose first cell is `cell`

  subroutine take_integers(f, cell, numbers)
    type(frame), intent(in) :: f
    integer, intent(in) :: cell
    integer(int64), allocatable, intent(out) :: numbers(:)
    integer(int64), pointer :: there(:)
    call c_f_pointer(transfer(f%results(cell), c_null_ptr), there, [f%results(cell + 2)])
    numbers = there
  end subroutine

  subroutine take_reals(f, cell, numbers)
    type(frame), intent(in) :: f
    integer, intent(in) :: cell
    real(real64), allocatable, intent(out) :: numbers(:)
    real(real64), pointer :: there(:)
    call c_f_pointer(transfer(f%results(cell), c_null_ptr), there, [f%results(cell + 2)])
    numbers = there
  end subroutine

  subroutine take_text(f, cell, text)
    type(frame), intent(in) :: f
    integer, intent(in) :: cell
    character(:), allocatable, intent(out) :: text
    text = text_at(transfer(f%results(cell), c_null_ptr), f%results(cell + 1))
  end subroutine

  subroutine take_device(f, cell, text)
    type(frame), intent(inout) :: f
    integer, intent(in) :: cell
    character(:), allocatable, intent(out) :: text
    call dtf_name_device(f, cell)
    call take_text(f, cell, text)
  end subroutine

  ! All as long as the longest.
  subroutine take_texts(f, cell, texts)
    type(frame), intent(in) :: f
    integer, intent(in) :: cell
    character(:), allocatable, intent(out) :: texts(:)
    type(c_ptr), pointer :: there(:)
    integer(int64) :: i, longest
    call c_f_pointer(transfer(f%results(cell), c_null_ptr), there, [f%results(cell + 1)])
    longest = maxval([0_int64, (strlen(there(i)), i=1, size(there))])
    allocate (character(longest) :: texts(size(there)))
    do i = 1, size(there)
      texts(i) = text_at(there(i), strlen(there(i)))
    end do
  end subroutine

  real(real64) function take_real(f, cell)
    type(frame), intent(in) :: f
    integer, intent(in) :: cell
    take_real = transfer(f%results(cell), take_real)
  end function

  ! What item() gives: a logical is 1 or 0.
  real(real64) function take_scalar(f, cell)
    type(frame), intent(in) :: f
    integer, intent(in) :: cell
    take_scalar = take_real(f, cell + 2)
    if (f%results(cell) /= kind_float) take_scalar = real(f%results(cell + 1), real64)
  end function

  ! ---- callbacks: what the library lends them, and what it gets back

  function lent_text(bits) result(text)
    integer(int64), intent(in) :: bits
    character(:), allocatable :: text
    type(c_ptr) :: there
    there = transfer(bits, there)
    text = text_at(there, strlen(there))
  end function

end module
