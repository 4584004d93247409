// Package dumbtorch trains and runs neural networks with PyTorch's names, defaults and numbers.
package dumbtorch

/*
#cgo CFLAGS: -I${SRCDIR}/../.. -I${SRCDIR}/../../capi/include
#cgo LDFLAGS: -ldumbtorch
#include "wrappers/table/frame.h"
*/
import "C"

import (
	"fmt"
	"math"
	"reflect"
	"runtime"
	"runtime/cgo"
	"strings"
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

// Autocast calls f with its ops in the dtype of their policy, on f's thread as in NoGrad. Dtype(0)
// is the device's: Bfloat16 on the CPU, Float16 on CUDA.
func Autocast(deviceType DeviceType, dtype Dtype, f func() error) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := AutocastBegin(deviceType, AutocastBeginOptions{Dtype: dtype}); err != nil {
		return err
	}
	defer AutocastEnd()
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
type object struct{ address uint64 }

// Release gives the object up now; else the garbage collector does so at some time.
func (x *object) Release() {
	C.dtt_release(C.uint64_t(x.address))
	x.address = 0
}

func (x *object) held() uint64 { return x.address }

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

// run calls a function; results are places for what it gives.
func run(index int, args []any, results ...any) error {
	f := C.dtt_new(C.int64_t(index))
	defer C.dtt_delete(f)
	for i, item := range unsafe.Slice(f.function.args, f.function.n_args) {
		give(f, &item, &f.given[item.cell], reflect.ValueOf(args[i]))
	}
	status := C.dtt_call(f)
	runtime.KeepAlive(args)
	if status != 0 {
		return &Error{Status(status), C.GoString(f.message)}
	}
	for i, item := range unsafe.Slice(f.function.results, f.function.n_results) {
		take(&item, &f.taken[2*i], reflect.ValueOf(results[i]).Elem())
	}
	return nil
}

func last[T any](options []T) (given T) {
	if n := len(options); n > 0 {
		given = options[n-1]
	}
	return given
}

// cells are the first two of what is given, and those of what is taken.
func cells(first *C.dtt_cell) []uint64 { return unsafe.Slice((*uint64)(unsafe.Pointer(first)), 2) }

func pointer[T any](cell uint64) *T { return *(**T)(unsafe.Pointer(&cell)) }

func list[T any](at []uint64) []T { return unsafe.Slice(pointer[T](at[0]), at[1]) }

var scalars = map[reflect.Kind]ScalarKind{
	reflect.Bool: ScalarKindBool, reflect.Int: ScalarKindInt, reflect.Float64: ScalarKindFloat,
}

// give writes a value into its cells. What is not given leaves them as they are, at the default: a
// zero, but for numbers where tensors may stand.
func give(f *C.dtt_frame, item *C.dtt_item, first *C.dtt_cell, v reflect.Value) {
	at := cells(first)
	isAny := item.kind == C.DTT_OPERAND || item.kind == C.DTT_SCALAR
	isGiven := item.is_required != 0 || (isAny && scalars[v.Kind()] != 0)
	if !v.IsValid() || (v.IsZero() && !isGiven) {
		return
	}
	if v.Kind() == reflect.Pointer && v.Type().Elem().Kind() != reflect.Struct {
		v = v.Elem()
	}
	switch kind, isNumber := scalars[v.Kind()]; {
	case isNumber:
		C.dtt_give_number(item, first, C.int32_t(kind), C.int64_t(bits(f, item, v)))
	case isAny && v.Kind() != reflect.Pointer:
		panic(fmt.Sprintf("%s: a %s cannot be passed", C.GoString(item.name), v.Type()))
	case v.Kind() == reflect.Slice:
		giveList(f, item, first, v)
	case v.Kind() == reflect.Struct:
		at[0], at[1] = uint64(v.Interface().(Device).Type), uint64(v.Interface().(Device).Index)
		C.dtt_note_device(&pressure.seen, C.int64_t(at[0]), C.int64_t(at[1]))
	default:
		at[0] = bits(f, item, v)
		if isAny {
			at[1] = 0
		}
	}
}

// bits are the cell of a value.
func bits(f *C.dtt_frame, item *C.dtt_item, v reflect.Value) uint64 {
	switch v.Kind() {
	case reflect.Bool:
		if v.Bool() {
			return 1
		}
		return 0
	case reflect.Float64:
		return math.Float64bits(v.Float())
	case reflect.Uintptr:
		return v.Uint()
	case reflect.String:
		if strings.IndexByte(v.String(), 0) >= 0 {
			C.dtt_refuse_null(f, item)
		}
		room := C.dtt_lend(f, C.int64_t(v.Len()))
		if room != nil {
			copy(unsafe.Slice((*byte)(room), v.Len()), v.String())
		}
		return uint64(uintptr(room))
	case reflect.Func:
		return uint64(cgo.NewHandle(v))
	case reflect.Pointer:
		if v.IsNil() {
			return 0
		}
		return v.Interface().(interface{ held() uint64 }).held()
	}
	return uint64(v.Int())
}

// giveList copies entries to where the call finds them.
func giveList(f *C.dtt_frame, item *C.dtt_item, first *C.dtt_cell, v reflect.Value) {
	room, entry := C.dtt_give_list(f, item, first, C.int64_t(v.Len())), v.Type().Elem()
	if room == nil {
		return
	}
	switch entry.Kind() {
	case reflect.Int, reflect.Float64, reflect.Uint8:
		bytes := v.Len() * int(entry.Size())
		copy(unsafe.Slice((*byte)(room), bytes), unsafe.Slice((*byte)(v.UnsafePointer()), bytes))
	default:
		for i := 0; i < v.Len(); i++ {
			C.dtt_give_entry(item, first, C.int64_t(i), C.int64_t(bits(f, item, v.Index(i))))
		}
	}
}

// take fills a place with a result, or with an argument of a callback. Memory behind it goes with
// the call.
func take(item *C.dtt_item, first *C.dtt_cell, place reflect.Value) {
	at := cells(first)
	switch p := place.Addr().Interface().(type) {
	case *Device:
		*p = Device{DeviceType(at[0]), int(at[1])}
	case *any:
		*p = map[uint64]any{1: at[0] != 0, 2: int(at[0]), 3: math.Float64frombits(at[0])}[at[1]]
	case *string:
		*p = string(list[byte](at))
	case *[]string:
		*p = []string{}
		for _, text := range list[[2]uint64](at) {
			*p = append(*p, string(list[byte](text[:])))
		}
	case *[]int:
		*p = append([]int{}, list[int](at)...)
	case *[]float64:
		*p = append([]float64{}, list[float64](at)...)
	default:
		if item.is_list == 0 {
			takeOne(item, at[0], place)
			return
		}
		place.Set(reflect.MakeSlice(place.Type(), int(at[1]), int(at[1])))
		for i, entry := range list[uint64](at) {
			takeOne(item, entry, place.Index(i))
		}
	}
}

func takeOne(item *C.dtt_item, bits uint64, place reflect.Value) {
	switch place.Kind() {
	case reflect.Bool:
		place.SetBool(bits != 0)
	case reflect.Float64:
		place.SetFloat(math.Float64frombits(bits))
	case reflect.Uintptr:
		place.SetUint(bits)
	case reflect.Pointer:
		if bits != 0 {
			place.Set(reflect.New(place.Type().Elem()))
			own((*object)(place.UnsafePointer()), bits)
			if item.kind == C.DTT_TENSOR {
				relievePressure()
			}
		}
	default:
		place.SetInt(int64(bits))
	}
}

// own has the garbage collector release the handle when it finds x unused.
func own(x *object, address uint64) {
	x.address = address
	runtime.SetFinalizer(x, (*object).Release)
}

// ---- callbacks

//export dtgoDrop
func dtgoDrop(user C.uintptr_t) { cgo.Handle(user).Delete() }

// What a function of the user's returns or panics with becomes the error of the call that ran it.
//
//export dtt_run
func dtt_run(f *C.dtt_frame) (status C.dt_status) {
	defer func() {
		if reason := recover(); reason != nil {
			message := C.CString(fmt.Sprint(reason))
			defer C.free(unsafe.Pointer(message))
			status = C.dt_error_set(C.DT_STATUS_CALLBACK, message)
		}
	}()
	run := cgo.Handle(f.user_data).Value().(reflect.Value)
	values := make([]reflect.Value, f.callback.n_args)
	for i, item := range unsafe.Slice(f.callback.args, f.callback.n_args) {
		values[i] = reflect.New(run.Type().In(i)).Elem()
		take(&item, &f.taken[2*i], values[i])
	}
	out := run.Call(values)
	if err, failed := out[len(out)-1].Interface().(error); failed {
		panic(err)
	}
	if f.callback.n_results > 0 {
		give(f, f.callback.results, &f.given[0], out[0])
		status = C.dtt_give_back(f)
		runtime.KeepAlive(out)
	}
	return status
}
