package dumbtorch

/*
#include "bridge.h"
*/
import "C"

import (
	"fmt"
	"runtime/cgo"
	"unsafe"
)

//export dtgoDrop
func dtgoDrop(user C.uintptr_t) { cgo.Handle(user).Delete() }

// What a function of the user's returns or panics with becomes the error of the call that ran it.
//
//export dtgoRun
func dtgoRun(k *C.dtt_callback, user C.uintptr_t, args, results *C.dtt_cell) (status C.dt_status) {
	fail := func(reason any) C.dt_status {
		message := C.CString(fmt.Sprint(reason))
		defer C.free(unsafe.Pointer(message))
		return C.dt_error_set(C.DT_STATUS_CALLBACK, message)
	}
	defer func() {
		if reason := recover(); reason != nil {
			status = fail(reason)
		}
	}()
	given := unsafe.Slice((*uint64)(unsafe.Pointer(args)), C.DTT_MAX_CELLS)
	values := make([]any, k.n_args)
	for i, item := range unsafe.Slice(k.args, k.n_args) {
		values[i] = lend(&item, given[item.cell:], unsafe.Add(unsafe.Pointer(args), 8*int(item.cell)))
	}
	value, err := cgo.Handle(user).Value().(callback).call(values)
	if err == nil && k.n_results > 0 {
		err = back(value, (*uint64)(unsafe.Pointer(results)))
	}
	if err != nil {
		return fail(err)
	}
	return 0
}

// lend makes a value of what the library gives a function. Tensors may be kept.
func lend(item *C.dtt_item, at cells, place unsafe.Pointer) any {
	switch {
	case item.is_list != 0:
		addresses := unsafe.Slice(*(**uint64)(place), at[1])
		return each(len(addresses), func(i int) *Tensor { return alias(addresses[i]) })
	case item.kind == C.DTT_TENSOR:
		return alias(at[0])
	case item.kind == C.DTT_STR:
		return C.GoString(*(**C.char)(place))
	}
	return int(at[0])
}

// back hands the library what a function gave: a truth value, or a handle of its own.
func back(value any, cell *uint64) error {
	switch v := value.(type) {
	case bool:
		*cell = uint64(bit(v))
	case *Tensor:
		if v != nil {
			own, err := TensorAlias(v)
			if err != nil {
				return err
			}
			*cell, own.address = own.address, 0
		}
	case []*Tensor:
		own, err := TensorListNew(v)
		if err != nil {
			return err
		}
		*cell, own.address = own.address, 0
	}
	return nil
}
