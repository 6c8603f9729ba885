//go:build race

package codec_test

// Under the race detector sync.Pool forgets on purpose.
const raceEnabled = true
