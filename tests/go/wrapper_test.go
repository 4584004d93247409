// What the runtime does, and the helpers of conformance_test.go.
package conformance

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"sync"
	"testing"

	dt "dumbtorch"
)

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func same(t *testing.T, got, wanted any) {
	t.Helper()
	if !reflect.DeepEqual(got, wanted) {
		t.Fatalf("got %v, wanted %v", got, wanted)
	}
}

func expectError(t *testing.T, err error, wanted string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), wanted) {
		t.Fatalf("got %v, wanted %s", err, wanted)
	}
}

func tensor(dtype dt.Dtype, size []int, data []float64, requiresGrad bool) *dt.Tensor {
	options := dt.FromNumbersOptions{Size: size, Dtype: dtype, RequiresGrad: requiresGrad}
	return dt.Must(dt.FromNumbers(data, options))
}

func expect(t *testing.T, x *dt.Tensor, dtype dt.Dtype, size []int, data []float64) {
	t.Helper()
	same(t, dt.Must(x.Dtype()), dtype)
	same(t, dt.Must(x.Shape()), size)
	tolerance := 1e-5
	if dtype == dt.Float64 {
		tolerance = 1e-8
	}
	for i, got := range dt.Must(dt.ToNumbers(x)) {
		if !(math.Abs(got-data[i]) <= tolerance*(1+math.Abs(data[i]))) {
			t.Fatalf("element %d: got %v, wanted %v", i, got, data[i])
		}
	}
}

func TestErrorsAreValues(t *testing.T) {
	x := dt.Must(dt.Ones([]int{2, 3}))
	y, err := x.Matmul(x)
	expectError(t, err, "mat1 and mat2 shapes cannot be multiplied (2x3 and 2x3)")
	var failed *dt.Error
	if y != nil || !errors.As(err, &failed) || failed.Status != dt.StatusRuntimeError {
		t.Fatal(y, err)
	}
}

func TestWhatIsNotGivenIsTheDefault(t *testing.T) {
	same(t, len(dt.Must(dt.Must(dt.NnLinear(3, 2)).Parameters())), 2)
	without := dt.NnLinearOptions{Bias: dt.P(false), Dtype: dt.Float64}
	weight := dt.Must(dt.Must(dt.NnLinear(3, 2, without)).Parameters())
	same(t, len(weight), 1)
	same(t, dt.Must(weight[0].Dtype()), dt.Float64)
	x := tensor(dt.Float32, []int{2}, []float64{-1, 3}, false)
	same(t, dt.Must(dt.ToNumbers(dt.Must(x.Clamp(dt.ClampOptions{Min: 0})))), []float64{0, 3})
	same(t, dt.Must(dt.ToNumbers(dt.Must(x.Clamp(dt.ClampOptions{Max: x})))), []float64{-1, 3})
	same(t, dt.Must(dt.ToNumbers(dt.Must(x.Add(1, dt.AddOptions{Alpha: 2})))), []float64{1, 5})
	same(t, dt.Must(dt.Must(x.Sum()).Item()), float64(2))
	same(t, dt.Must(x.Device()), dt.Device{Type: dt.DeviceTypeCpu})
}

func TestHooks(t *testing.T) {
	x := tensor(dt.Float32, []int{2}, []float64{1, 2}, true)
	hook := dt.Must(x.RegisterHook(func(grad *dt.Tensor) (*dt.Tensor, error) { return grad.Mul(10) }))
	check(t, dt.Must(x.Sum()).Backward())
	same(t, dt.Must(dt.ToNumbers(dt.Must(x.Grad()))), []float64{10, 10})
	check(t, hook.Remove())
	for _, fail := range []dt.TensorHook{
		func(*dt.Tensor) (*dt.Tensor, error) { return nil, errors.New("not today") },
		func(*dt.Tensor) (*dt.Tensor, error) { panic("not today") },
	} {
		hook := dt.Must(x.RegisterHook(fail))
		expectError(t, dt.Must(x.Sum()).Backward(), "not today")
		check(t, hook.Remove())
	}
}

func TestCustomFunction(t *testing.T) {
	x := tensor(dt.Float32, []int{2}, []float64{2, 3}, true)
	square := func(grads, saved []*dt.Tensor) ([]*dt.Tensor, error) {
		twice, err := saved[0].Mul(2)
		if err != nil {
			return nil, err
		}
		grad, err := grads[0].Mul(twice)
		return []*dt.Tensor{grad}, err
	}
	y := dt.Must(dt.Must(x.Detach()).Square())
	outputs := dt.Must(dt.CustomFunction(
		"Square", []*dt.Tensor{x}, []*dt.Tensor{y}, []*dt.Tensor{x}, square))
	check(t, dt.Must(outputs[0].Sum()).Backward())
	same(t, dt.Must(dt.ToNumbers(dt.Must(x.Grad()))), []float64{4, 6})
}

func TestFiles(t *testing.T) {
	path, seen := t.TempDir()+"/x.safetensors", 0
	x := dt.Must(dt.Arange(0, 6))
	progress := func(done, total int) (bool, error) { seen = total; return false, nil }
	check(t, dt.SaveSafetensors(path, []string{"a", "é"}, []*dt.Tensor{x, x},
		dt.SaveSafetensorsOptions{Progress: progress}))
	names, tensors, err := dt.LoadSafetensors(path, dt.LoadSafetensorsOptions{Only: []string{"é"}})
	check(t, err)
	same(t, names, []string{"é"})
	same(t, dt.Must(dt.ToInts(tensors[0])), []int{0, 1, 2, 3, 4, 5})
	if seen == 0 {
		t.Fatal("no progress was told")
	}
}

func TestNoGrad(t *testing.T) {
	x := tensor(dt.Float32, []int{1}, []float64{1}, true)
	check(t, dt.NoGrad(func() error {
		same(t, dt.Must(dt.Must(x.Mul(2)).RequiresGrad()), false)
		return nil
	}))
	same(t, dt.Must(dt.Must(x.Mul(2)).RequiresGrad()), true)
}

func TestGoroutinesAndTheCollector(t *testing.T) {
	var group sync.WaitGroup
	failures := make(chan error, 8)
	for i := 0; i < 8; i++ {
		group.Add(1)
		go func(i int) {
			defer group.Done()
			for n := 0; n < 200; n++ {
				x, err := dt.Full([]int{64, 64}, i)
				if err == nil {
					x, err = x.Matmul(x)
				}
				if got := dt.Must(dt.Must(x.Max()).Item()); err != nil || got != 64*i*i {
					failures <- fmt.Errorf("%v: %v", got, err)
					return
				}
				_, err = x.Matmul(dt.Must(dt.Ones([]int{i + 1, 1})))
				if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("and %dx1", i+1)) {
					failures <- fmt.Errorf("goroutine %d got %v", i, err)
					return
				}
			}
		}(i)
	}
	group.Wait()
	close(failures)
	for err := range failures {
		t.Error(err)
	}
}

func TestTensorsPrintTheirElements(t *testing.T) {
	if got := fmt.Sprint(dt.Must(dt.Ones([]int{2}))); got != "tensor([1., 1.])" {
		t.Fatal(got)
	}
	var none *dt.Tensor
	if got := fmt.Sprint(none); !strings.Contains(got, "NULL") {
		t.Fatal(got)
	}
}

// To Go a tensor is 8 bytes: without help it would never look for those that are garbage.
func TestGarbageIsCollected(t *testing.T) {
	check(t, dt.ResetPeakMemoryStats())
	const bytes = 4 << 20
	for i := 0; i < 640; i++ {
		dt.Must(dt.Ones([]int{bytes / 4}))
	}
	_, _, peak, err := dt.MemoryStats()
	check(t, err)
	if peak > 200*bytes {
		t.Fatalf("%d MB were in use at once", peak>>20)
	}
}
