// What the runtime does, and the helpers of conformance_test.go.
package conformance

import (
	"fmt"
	"math"
	"reflect"
	"strings"
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
	same(t, err.(*dt.Error).Status, dt.StatusRuntimeError)
	same(t, y, (*dt.Tensor)(nil))
	defer func() { same(t, recover(), "other: a float32 cannot be passed") }()
	x.Add(float32(1))
}

func TestWhatAHookPanicsWithIsAnError(t *testing.T) {
	x := dt.Must(dt.Ones([]int{2}, dt.OnesOptions{RequiresGrad: true}))
	dt.Must(x.RegisterHook(func(*dt.Tensor) (*dt.Tensor, error) { panic("not today") }))
	expectError(t, dt.Must(x.Sum()).Backward(), "not today")
}

func TestTensorsPrintTheirElements(t *testing.T) {
	var none *dt.Tensor
	same(t, fmt.Sprint(dt.Must(dt.Ones([]int{2}))), "tensor([1., 1.])")
	same(t, strings.Contains(fmt.Sprint(none), "NULL"), true)
}

func TestCollectionsFollowWhatIsBehindObjects(t *testing.T) {
	const mebibytes = 1 << 20
	before, _, _, err := dt.MemoryStats()
	check(t, err)
	for i := 0; i < 64; i++ {
		_, err = dt.NnLinear(1024, 1024, dt.NnLinearOptions{Bias: dt.P(false)})
		check(t, err)
	}
	after, _, _, err := dt.MemoryStats()
	check(t, err)
	if after-before > 128*mebibytes {
		t.Errorf("modules that nobody has hold %d MiB", (after-before)/mebibytes)
	}
}
