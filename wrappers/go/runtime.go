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

type call struct {
	args, results [C.DTT_MAX_CELLS]uint64
	lent          []unsafe.Pointer // C memory of lists and text
}

func run(index int, args ...any) ([]any, error) {
	c := new(call)
	defer c.free()
	f := C.dtgo_function(C.int64_t(index))
	copy(c.args[:], unsafe.Slice((*uint64)(unsafe.Pointer(f.initial)), f.n_cells))
	for i, item := range unsafe.Slice(f.args, f.n_args) {
		c.give(&item, c.args[item.cell:], args[i])
	}
	err := c.invoke(f)
	var numbers unsafe.Pointer
	if err == nil && f.n_results > 0 && isNumbers(f.results) { // that call said how many there are
		numbers = c.room(8 * int(c.results[2]))
		c.results[0], c.results[1] = uint64(uintptr(numbers)), c.results[2]
		err = c.invoke(f)
	}
	runtime.KeepAlive(args)
	if err != nil {
		return nil, err
	}
	values := make([]any, f.n_results)
	for i, item := range unsafe.Slice(f.results, f.n_results) {
		values[i] = take(&item, c.results[item.cell:], numbers)
	}
	return values, nil
}

func (c *call) invoke(f *C.dtt_function) error {
	var message *C.char
	status := C.dtgo_call(f, (*C.dtt_cell)(unsafe.Pointer(&c.args)),
		(*C.dtt_cell)(unsafe.Pointer(&c.results)), &message)
	if status == 0 {
		return nil
	}
	defer C.free(unsafe.Pointer(message))
	return &Error{Status(status), C.GoString(message)}
}

func (c *call) room(bytes int) unsafe.Pointer {
	address := C.calloc(1, C.size_t(bytes+1))
	c.lent = append(c.lent, address)
	return address
}

func (c *call) free() {
	for _, address := range c.lent {
		C.free(address)
	}
}

// give writes a value into its cells. What is not given leaves them as they are, at the default.
func (c *call) give(item *C.dtt_item, at cells, value any) {
	required := item.is_required != 0
	switch v := value.(type) {
	case bool:
		giveNumber(item, at, C.DT_SCALAR_KIND_BOOL, uint64(bit(v)))
	case int:
		giveNumber(item, at, C.DT_SCALAR_KIND_INT, uint64(v))
	case float64:
		giveNumber(item, at, C.DT_SCALAR_KIND_FLOAT, math.Float64bits(v))
	case *bool:
		givePointed(c, item, at, v)
	case *int:
		givePointed(c, item, at, v)
	case *float64:
		givePointed(c, item, at, v)
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
			at[0] = c.text(v)
		}
	case []byte:
		giveList(c, at, required, v, func(b byte) byte { return b })
	case []bool:
		giveList(c, at, required, v, bit)
	case []int:
		giveList(c, at, required, v, func(i int) int { return i })
	case []float64:
		giveList(c, at, required, v, func(f float64) float64 { return f })
	case []string:
		giveList(c, at, required, v, c.text)
	case []*Tensor:
		giveList(c, at, required, v, (*Tensor).held)
	case nil:
	default:
		panic(fmt.Sprintf("%s: a %T cannot be passed", C.GoString(item.name), value))
	}
}

func givePointed[T any](c *call, item *C.dtt_item, at cells, value *T) {
	if value != nil {
		c.give(item, at, *value)
	}
}

func giveNumber(item *C.dtt_item, at cells, kind, bits uint64) {
	switch {
	case item.kind == C.DTT_OPERAND:
		at[0], at = 0, at[1:]
		fallthrough
	case item.kind == C.DTT_SCALAR:
		at[0], at[1], at[2] = kind, bits, bits
	case item.is_optional != 0:
		at[0], at[1] = 1, bits
	default:
		at[0] = bits
	}
}

func bit(v bool) int32 {
	if v {
		return 1
	}
	return 0
}

func (c *call) text(v string) uint64 {
	address := c.room(len(v))
	copy(unsafe.Slice((*byte)(address), len(v)), v)
	return uint64(uintptr(address))
}

func giveList[T, E any](c *call, at cells, required bool, values []T, element func(T) E) {
	if values == nil && !required {
		return
	}
	address := c.room(len(values) * int(unsafe.Sizeof(*new(E))))
	for i, room := 0, unsafe.Slice((*E)(address), len(values)); i < len(values); i++ {
		room[i] = element(values[i])
	}
	at[0], at[1] = uint64(uintptr(address)), uint64(len(values))
}

func isNumbers(item *C.dtt_item) bool {
	return item.is_list != 0 && (item.kind == C.DTT_I64 || item.kind == C.DTT_F64)
}

// take reads a result; handles that are only carriers are released.
func take(item *C.dtt_item, at cells, numbers unsafe.Pointer) any {
	switch {
	case isNumbers(item) && item.kind == C.DTT_I64:
		return append([]int{}, unsafe.Slice((*int)(numbers), at[2])...)
	case isNumbers(item):
		return append([]float64{}, unsafe.Slice((*float64)(numbers), at[2])...)
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

func each[T any](n int, get func(i int) T) []T {
	values := make([]T, n)
	for i := range values {
		values[i] = get(i)
	}
	return values
}
