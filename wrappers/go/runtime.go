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
	"reflect"
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

// object is what all classes are: a handle.
type object struct {
	address uint64
	of      *C.dtt_handle
}

// Release gives the object up now; else the garbage collector does so at some time.
func (x *object) Release() { C.dtgo_release(x.of, C.uint64_t(x.handOver())) }

func (x *object) held() uint64 { return x.address }

// handOver leaves the handle to the caller.
func (x *object) handOver() uint64 {
	address := x.address
	x.address = 0
	return address
}

// hold owns a handle from now on. It is released when the garbage collector finds x unused.
func (x *object) hold(address uint64, of *C.dtt_handle) {
	x.address, x.of = address, of
	runtime.SetFinalizer(x, (*object).Release)
	if of == &C.dtt_handle_tensor {
		relievePressure()
	}
}

func tensor(address uint64) (x *Tensor) {
	if address != 0 {
		x = new(Tensor)
		x.hold(address, &C.dtt_handle_tensor)
	}
	return x
}

func heldBy(x *Tensor) uint64 {
	if x == nil {
		return 0
	}
	return x.address
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

// ---- calls

// cells are those of one argument or result: at most a tensor, and a number's three.
type cells []uint64

func cellsAt(cell *C.dtt_cell) cells { return unsafe.Slice((*uint64)(unsafe.Pointer(cell)), 4) }

func pointer[T any](cell uint64) *T { return *(**T)(unsafe.Pointer(&cell)) }

func list[T any](at cells) []T { return unsafe.Slice(pointer[T](at[0]), at[1]) }

func each[T, E any](values []T, element func(T) E) []E {
	if values == nil {
		return nil
	}
	made := make([]E, len(values))
	for i, value := range values {
		made[i] = element(value)
	}
	return made
}

func last[T any](options []T) (given T) {
	if n := len(options); n > 0 {
		given = options[n-1]
	}
	return given
}

// run calls a function; results are places for what it gives.
func run(index int, args []any, results ...any) error {
	f := new(C.dtt_frame)
	C.dtgo_begin(f, C.int64_t(index))
	defer C.dtt_end(f)
	for i, item := range unsafe.Slice(f.function.args, f.function.n_args) {
		give(f, &item, cellsAt(&f.args[item.cell]), args[i])
	}
	var message *C.char
	status := C.dtgo_call(f, &message)
	runtime.KeepAlive(args)
	if status != 0 {
		defer C.free(unsafe.Pointer(message))
		return &Error{Status(status), C.GoString(message)}
	}
	for i, item := range unsafe.Slice(f.function.results, f.function.n_results) {
		take(&item, cellsAt(&f.results[item.cell]), results[i])
	}
	return nil
}

// give writes a value into its cells. What is not given leaves them as they are, at the default.
func give(f *C.dtt_frame, item *C.dtt_item, at cells, value any) {
	switch v := value.(type) {
	case nil:
	case bool:
		giveNumber(item, at, C.DT_SCALAR_KIND_BOOL, uint64(bit(v)))
	case int:
		giveNumber(item, at, C.DT_SCALAR_KIND_INT, uint64(v))
	case float64:
		giveNumber(item, at, C.DT_SCALAR_KIND_FLOAT, math.Float64bits(v))
	case Device:
		if v.Type != 0 {
			at[0], at[1] = uint64(v.Type), uint64(v.Index)
		}
	case string:
		if item.is_required != 0 || v != "" {
			giveList(f, item, at[:1], []byte(v))
		}
	case []byte:
		giveList(f, item, at, v)
	case []bool:
		giveList(f, item, at, each(v, bit))
	case []int:
		giveList(f, item, at, v)
	case []float64:
		giveList(f, item, at, v)
	case []string:
		giveList(f, item, at, each(v, func(s string) (address uint64) {
			giveList(f, item, unsafe.Slice(&address, 1), []byte(s))
			return address
		}))
	case []*Tensor:
		giveList(f, item, at, each(v, heldBy))
	default:
		giveOther(f, item, at, reflect.ValueOf(value))
	}
}

// giveOther: an enum, a function, an object, or a number that may be absent.
func giveOther(f *C.dtt_frame, item *C.dtt_item, at cells, v reflect.Value) {
	switch {
	case v.Kind() == reflect.Int32 && item.kind == C.DTT_ENUM:
		if v.Int() != 0 {
			at[0] = uint64(v.Int())
		}
	case v.Kind() != reflect.Func && v.Kind() != reflect.Pointer:
		panic(fmt.Sprintf("%s: a %s cannot be passed", C.GoString(item.name), v.Type()))
	case v.IsNil():
	case v.Kind() == reflect.Func:
		at[0] = uint64(cgo.NewHandle(v))
	case v.Elem().Kind() == reflect.Struct:
		at[0] = v.Interface().(interface{ held() uint64 }).held()
		if item.kind == C.DTT_OPERAND {
			at[1] = 0
		}
	default:
		give(f, item, at, v.Elem().Interface())
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

// giveList lends a copy of values, with a zero behind them.
func giveList[T any](f *C.dtt_frame, item *C.dtt_item, at cells, values []T) {
	if values == nil && item.is_required == 0 {
		return
	}
	room := C.dtt_lend(f, C.int64_t(len(values)*int(unsafe.Sizeof(*new(T)))))
	copy(unsafe.Slice((*T)(room), len(values)), values)
	copy(at, []uint64{uint64(uintptr(room)), uint64(len(values))})
}

// take fills a place with a result. Memory behind it goes with the call.
func take(item *C.dtt_item, at cells, place any) {
	switch p := place.(type) {
	case *int:
		*p = int(at[0])
	case *float64:
		*p = math.Float64frombits(at[0])
	case *bool:
		*p = at[0] != 0
	case *uintptr:
		*p = uintptr(at[0])
	case *string:
		*p = string(list[byte](at))
	case *Device:
		*p = Device{DeviceType(at[0]), int(at[1])}
	case *any:
		*p = map[uint64]any{1: at[1] != 0, 2: int(at[1]), 3: math.Float64frombits(at[2])}[at[0]]
	case *[]int:
		*p = append([]int{}, list[int](at)...)
	case *[]float64:
		*p = append([]float64{}, list[float64](at)...)
	case *[]string:
		*p = each(list[*C.char](at), func(s *C.char) string { return C.GoString(s) })
	case *[]*Tensor:
		*p = each(list[uint64](at), tensor)
	case **Tensor:
		*p = tensor(at[0])
	default:
		takeOther(item, at, reflect.ValueOf(place).Elem())
	}
}

// takeOther: an enum, or an object.
func takeOther(item *C.dtt_item, at cells, place reflect.Value) {
	if place.Kind() == reflect.Int32 {
		place.SetInt(int64(at[0]))
	} else if at[0] != 0 {
		place.Set(reflect.New(place.Type().Elem()))
		(*object)(place.UnsafePointer()).hold(at[0], (*C.dtt_handle)(item.of))
	}
}
