package frame_test
import ("testing";"bytes")
func BenchmarkFloor(b *testing.B) {
	buf := logLines(256<<10, 480)
	b.SetBytes(256<<10)
	n := 0
	for b.Loop() {
		r := buf
		for { i := bytes.IndexByte(r, '\n'); if i < 0 { break }; n++; r = r[i+1:] }
	}
}
func BenchmarkFloorAll(b *testing.B) {
	buf := bytes.Repeat([]byte("x"),256<<10)
	b.SetBytes(256<<10)
	for b.Loop() { _ = bytes.IndexByte(buf, '\n') }
}
