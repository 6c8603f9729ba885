package main

import (
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
)

func TestTheBareLoopMakesAtOnceWhatTheListerDoes(t *testing.T) {
	page, unit, send := call{input: dynamodb.GetItemInput{}}, call{dynamodb.UpdateItemInput{}, true}, call{input: sqs.SendMessageBatchInput{}}
	calls := []call{page, page, unit, unit, unit, send, send, page, unit, send}
	var sizes, limits []int
	for len(calls) > 0 {
		n, limit := alike(calls)
		sizes, limits = append(sizes, n), append(limits, limit)
		calls = calls[n:]
	}
	if want := []int{1, 1, 3, 2, 1, 1, 1}; !slices.Equal(sizes, want) {
		t.Errorf("groups of %v, want %v", sizes, want)
	}
	if limits[2] != writesAtOnce || limits[3] != sendsAtOnce {
		t.Errorf("at once: %v", limits)
	}
}

func TestTheBucketIsListedWhole(t *testing.T) {
	b := newBucket(2*pageKeys + 1)
	var keys []string
	for after, more := "", true; more; {
		p, err := b.List(t.Context(), after)
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range p.Objects {
			keys = append(keys, o.Key)
		}
		after, more = p.Last, p.More
	}
	if len(keys) != len(b) || !slices.IsSorted(keys) || len(slices.Compact(keys)) != len(b) {
		t.Errorf("%d keys of %d", len(keys), len(b))
	}
}

func TestMedian(t *testing.T) {
	for want, of := range map[float64][]float64{0: nil, 2: {3, 1, 2}, 2.5: {4, 1, 2, 3}} {
		if got := median(of); got != want {
			t.Errorf("median of %v is %v, want %v", of, got, want)
		}
	}
}
