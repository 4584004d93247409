package dumbtorch

/*
#include "bridge.h"
*/
import "C"

import (
	"fmt"
	"reflect"
	"runtime/cgo"
	"unsafe"
)

//export dtgoDrop
func dtgoDrop(user C.uintptr_t) { cgo.Handle(user).Delete() }

// What a function of the user's returns or panics with becomes the error of the call that ran it.
//
//export dtgoRun
func dtgoRun(k *C.dtt_callback, user C.uintptr_t, args, results *C.dtt_cell) (status C.dt_status) {
	defer func() {
		if reason := recover(); reason != nil {
			message := C.CString(fmt.Sprint(reason))
			defer C.free(unsafe.Pointer(message))
			status = C.dt_error_set(C.DT_STATUS_CALLBACK, message)
		}
	}()
	f := cgo.Handle(user).Value().(reflect.Value)
	given := unsafe.Slice((*uint64)(unsafe.Pointer(args)), C.DTT_MAX_CELLS)
	values := make([]reflect.Value, k.n_args)
	for i, item := range unsafe.Slice(k.args, k.n_args) {
		place := reflect.New(f.Type().In(i))
		lend(&item, given[item.cell:], place.Interface())
		values[i] = place.Elem()
	}
	out := f.Call(values)
	if err, failed := out[len(out)-1].Interface().(error); failed {
		panic(err)
	}
	if k.n_results > 0 {
		*(*uint64)(unsafe.Pointer(results)) = back(out[0].Interface())
	}
	return 0
}

// lend fills a place with what the library gives a function. Tensors may be kept.
func lend(item *C.dtt_item, at cells, place any) {
	switch p := place.(type) {
	case **Tensor:
		*p = alias(at[0])
	case *[]*Tensor:
		*p = each(list[uint64](at), alias)
	case *string:
		*p = C.GoString(pointer[C.char](at[0]))
	default:
		take(item, at, place)
	}
}

// alias makes an object of a lent handle.
func alias(address uint64) *Tensor {
	if address == 0 {
		return nil
	}
	return Must(TensorAlias(&Tensor{object{address: address}}))
}

// back is what the library gets of a function's result: a truth value, or a handle of its own.
func back(value any) uint64 {
	switch v := value.(type) {
	case bool:
		return uint64(bit(v))
	case []*Tensor:
		return Must(TensorListNew(v)).handOver()
	case *Tensor:
		if v != nil {
			return Must(TensorAlias(v)).handOver()
		}
	}
	return 0
}
