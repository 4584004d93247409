// Package dumbtorch trains and runs neural networks with PyTorch's names, defaults and numbers.
package dumbtorch

/*
#cgo CFLAGS: -I${SRCDIR}/../.. -I${SRCDIR}/../../capi/include
#cgo LDFLAGS: -ldumbtorch
#include "bridge.h"
*/
import "C"

import (
	"fmt"
	"math"
	"runtime"
	"runtime/cgo"
	"sync"
	"unsafe"
)

// Error is what a call that failed says, in PyTorch's words.
type Error struct {
	Status  Status
	Message string
}

func (e *Error) Error() string { return e.Message }

// Must gives back the value of a call, and panics if it failed: Must(x.Sum()).
func Must[T any](value T, err error) T {
	Check(err)
	return value
}

// Check panics if a call failed that gives no value back: Check(loss.Backward()).
func Check(err error) {
	if err != nil {
		panic(err)
	}
}

// P points to a number, for a field whose default is not 0: P(false), P(0.9).
func P[T int | float64 | bool](value T) *T { return &value }

// Device is where a tensor lies. The zero value is the default device.
type Device struct {
	Type  DeviceType
	Index int
}

// String is the tensor as PyTorch prints it, or why it cannot be.
func (x *Tensor) String() string {
	text, err := x.ToString()
	if err != nil {
		return err.Error()
	}
	return text
}

// NoGrad calls f without recording gradients. What is in force belongs to a thread of the system,
// so f's goroutine stays on its thread meanwhile.
func NoGrad(f func() error) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer SetGradEnabled(Must(IsGradEnabled()))
	Check(SetGradEnabled(false))
	return f()
}

// Sequential makes a module that applies others one after the other.
func Sequential(modules ...*Module) (*Module, error) {
	all, err := NnSequential()
	for _, module := range modules {
		if err != nil {
			return nil, err
		}
		err = all.Append(module)
	}
	return all, err
}

// ---- objects

type object interface{ held() uint64 }

type enum interface{ number() uint64 }

type callback interface {
	given() bool
	call(args []any) (any, error)
}

type handle uint64

// hold makes an object of a handle. It is released when the garbage collector finds it unused.
func hold[T any, P interface {
	*T
	own(uint64)
	Release()
}](results []any, i int) P {
	address := as[handle](results, i)
	if address == 0 {
		return nil
	}
	x := P(new(T))
	x.own(uint64(address))
	runtime.SetFinalizer(x, P.Release)
	if _, isTensor := any(x).(*Tensor); isTensor {
		relievePressure()
	}
	return x
}

var pressure struct {
	sync.Mutex
	seen C.dtt_pressure
}

// relievePressure collects when what tensors hold has doubled since the last time. It waits until
// the finalizers have run: those of the first collection come before that of the mark, which the
// second one finds.
func relievePressure() {
	if !pressure.TryLock() {
		return // another goroutine does so
	}
	defer pressure.Unlock()
	if C.dtt_collection_is_due(&pressure.seen) == 0 {
		return
	}
	runtime.GC()
	done := make(chan bool)
	runtime.SetFinalizer(&struct{ done chan bool }{done}, func(mark any) { close(done) })
	runtime.GC()
	<-done
	C.dtt_has_collected(&pressure.seen)
}

// alias makes an object of a lent handle.
func alias(address uint64) *Tensor {
	if address == 0 {
		return nil
	}
	return Must(TensorAlias(&Tensor{address}))
}

func release(class int, address *uint64) {
	C.dtgo_release(C.int64_t(class), C.uint64_t(*address))
	*address = 0
}

func as[T any](values []any, i int) (value T) {
	if i < len(values) {
		value, _ = values[i].(T)
	}
	return value
}

func last[T any](options []T) (given T) {
	if n := len(options); n > 0 {
		given = options[n-1]
	}
	return given
}

// ---- calls

type cells []uint64

func (c cells) float(i int) float64 { return math.Float64frombits(c[i]) }

// words are the cells of one argument or result: at most a tensor, and a number's three.
func words(cell *C.dtt_cell) cells { return unsafe.Slice((*uint64)(unsafe.Pointer(cell)), 4) }

func run(index int, args ...any) ([]any, error) {
	f := new(C.dtt_frame)
	C.dtgo_begin(f, C.int64_t(index))
	defer C.dtt_end(f)
	for i, item := range unsafe.Slice(f.function.args, f.function.n_args) {
		give(f, &item, words(&f.args[item.cell]), args[i])
	}
	var message *C.char
	status := C.dtgo_call(f, &message)
	runtime.KeepAlive(args)
	if status != 0 {
		defer C.free(unsafe.Pointer(message))
		return nil, &Error{Status(status), C.GoString(message)}
	}
	values := make([]any, f.function.n_results)
	for i, item := range unsafe.Slice(f.function.results, f.function.n_results) {
		values[i] = take(&item, words(&f.results[item.cell]))
	}
	return values, nil
}

// give writes a value into its cells. What is not given leaves them as they are, at the default.
func give(f *C.dtt_frame, item *C.dtt_item, at cells, value any) {
	required := item.is_required != 0
	switch v := value.(type) {
	case bool:
		giveNumber(item, at, C.DT_SCALAR_KIND_BOOL, uint64(bit(v)))
	case int:
		giveNumber(item, at, C.DT_SCALAR_KIND_INT, uint64(v))
	case float64:
		giveNumber(item, at, C.DT_SCALAR_KIND_FLOAT, math.Float64bits(v))
	case *bool:
		givePointed(f, item, at, v)
	case *int:
		givePointed(f, item, at, v)
	case *float64:
		givePointed(f, item, at, v)
	case object:
		if address := v.held(); address != 0 {
			at[0] = address
			if item.kind == C.DTT_OPERAND {
				at[1] = 0
			}
		}
	case enum:
		if n := v.number(); n != 0 {
			at[0] = n
		}
	case Device:
		if v.Type != 0 {
			at[0], at[1] = v.Type.number(), uint64(v.Index)
		}
	case callback:
		if v.given() {
			at[0] = uint64(cgo.NewHandle(v))
		}
	case string:
		if required || v != "" {
			at[0] = text(f, v)
		}
	case []byte:
		giveList(f, at, required, v, func(b byte) byte { return b })
	case []bool:
		giveList(f, at, required, v, bit)
	case []int:
		giveList(f, at, required, v, func(i int) int { return i })
	case []float64:
		giveList(f, at, required, v, func(f float64) float64 { return f })
	case []string:
		giveList(f, at, required, v, func(s string) uint64 { return text(f, s) })
	case []*Tensor:
		giveList(f, at, required, v, (*Tensor).held)
	case nil:
	default:
		panic(fmt.Sprintf("%s: a %T cannot be passed", C.GoString(item.name), value))
	}
}

func givePointed[T any](f *C.dtt_frame, item *C.dtt_item, at cells, value *T) {
	if value != nil {
		give(f, item, at, *value)
	}
}

func giveNumber(item *C.dtt_item, at cells, kind C.int32_t, bits uint64) {
	C.dtt_give_number(item, (*C.dtt_cell)(unsafe.Pointer(&at[0])), kind, C.int64_t(bits))
}

func bit(v bool) int32 {
	if v {
		return 1
	}
	return 0
}

func text(f *C.dtt_frame, v string) uint64 {
	address := C.dtt_lend(f, C.int64_t(len(v)))
	copy(unsafe.Slice((*byte)(address), len(v)), v)
	return uint64(uintptr(address))
}

func giveList[T, E any](f *C.dtt_frame, at cells, required bool, values []T, element func(T) E) {
	if values == nil && !required {
		return
	}
	address := C.dtt_lend(f, C.int64_t(len(values)*int(unsafe.Sizeof(*new(E)))))
	for i, room := 0, unsafe.Slice((*E)(address), len(values)); i < len(values); i++ {
		room[i] = element(values[i])
	}
	at[0], at[1] = uint64(uintptr(address)), uint64(len(values))
}

// take reads a result; handles that are only carriers are released.
func take(item *C.dtt_item, at cells) any {
	switch {
	case item.is_list != 0 && item.kind == C.DTT_I64:
		return numbers[int](at)
	case item.is_list != 0 && item.kind == C.DTT_F64:
		return numbers[float64](at)
	case item.is_list != 0 && item.kind == C.DTT_TENSOR:
		list := &TensorList{at[0]}
		defer list.Release()
		return each(Must(list.Len()), func(i int) *Tensor { return Must(list.Get(i)) })
	case item.is_list != 0:
		list := &StringList{at[0]}
		defer list.Release()
		return each(Must(list.Len()), func(i int) string {
			return C.GoString(C.dtgo_string(C.uint64_t(list.address), C.int64_t(i)))
		})
	}
	switch item.kind {
	case C.DTT_STR:
		bytes := &Bytes{at[0]}
		defer bytes.Release()
		var n C.int64_t
		data := C.dtgo_text(C.uint64_t(bytes.address), &n)
		return C.GoStringN(data, C.int(n))
	case C.DTT_TENSOR, C.DTT_HANDLE:
		return handle(at[0])
	case C.DTT_F64:
		return at.float(0)
	case C.DTT_BOOL:
		return at[0] != 0
	case C.DTT_DEVICE:
		return Device{DeviceType(at[0]), int(at[1])}
	case C.DTT_POINTER:
		return uintptr(at[0])
	case C.DTT_SCALAR:
		return map[uint64]any{1: at[1] != 0, 2: int(at[1]), 3: at.float(2)}[at[0]]
	}
	return int(at[0])
}

// numbers are copied: their memory goes with the call.
func numbers[T int | float64](at cells) []T {
	return append([]T{}, unsafe.Slice(*(**T)(unsafe.Pointer(&at[0])), at[2])...)
}

func each[T any](n int, get func(i int) T) []T {
	values := make([]T, n)
	for i := range values {
		values[i] = get(i)
	}
	return values
}
