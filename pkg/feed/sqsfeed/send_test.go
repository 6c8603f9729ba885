package sqsfeed_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/spate-go/spate/pkg/failure"
	"github.com/spate-go/spate/pkg/feed"
	"github.com/spate-go/spate/pkg/feed/sqsfeed"
	"github.com/spate-go/spate/pkg/unit"
)

func message(i, size int) feed.Message {
	return feed.Message{ID: unit.ID(fmt.Sprintf("s3-%022d", i)), Job: "nightly", Body: []byte(strings.Repeat("x", size))}
}

func messages(n, size int) (ms []feed.Message) {
	for i := range n {
		ms = append(ms, message(i, size))
	}
	return ms
}

// units counts what the queue holds, by unit.
func (q *fakeSQS) units() map[string]int {
	n := map[string]int{}
	for _, m := range q.queued {
		n[aws.ToString(m.MessageAttributes["spate-unit"].StringValue)]++
	}
	return n
}

func (q *fakeSQS) holds(t *testing.T, ms []feed.Message, least, most int) {
	t.Helper()
	got := q.units()
	for _, m := range ms {
		if n := got[string(m.ID)]; n < least || n > most {
			t.Errorf("unit %s is in the queue %d times, want %d to %d", m.ID, n, least, most)
		}
	}
}

func marked(t *testing.T, err error, s failure.Scope, r failure.Reason, says ...string) {
	t.Helper()
	gotScope, gotReason := failure.Of(err)
	if !failure.Marked(err) || gotScope != s || gotReason != r {
		t.Errorf("scope %v, reason %q, want %v, %q: %v", gotScope, gotReason, s, r, err)
		return
	}
	for _, text := range says {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("does not say %q: %v", text, err)
		}
	}
}

func TestRequestsAreAsFullAsTheyMayBe(t *testing.T) {
	const own = len("spate-unit"+"String"+"spate-job"+"String"+"nightly") + 25 // of the attributes
	for name, c := range map[string]struct {
		ms   []feed.Message
		o    sqsfeed.Options
		want []int
	}{
		"none":                                    {nil, sqsfeed.Options{}, nil},
		"ten at once":                             {messages(25, 10), sqsfeed.Options{}, []int{10, 10, 5}},
		"up to 1 MiB with their attributes":       {messages(5, 1<<19-own), sqsfeed.Options{}, []int{2, 2, 1}},
		"no byte more":                            {messages(5, 1<<19-own+1), sqsfeed.Options{}, []int{1, 1, 1, 1, 1}},
		"up to the bound that was asked for":      {messages(5, 100-own), sqsfeed.Options{MaxBatchBytes: 300}, []int{3, 2}},
		"one that is larger than that goes alone": {messages(3, 500), sqsfeed.Options{MaxBatchBytes: 300}, []int{1, 1, 1}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q := &fakeSQS{}
				c.o.Concurrency = 1
				if err := sqsfeed.New(q, feedURL, c.o).Send(t.Context(), c.ms...); err != nil {
					t.Fatal(err)
				}
				var got []int
				for _, s := range q.sends {
					got = append(got, len(s.Entries))
				}
				if !slices.Equal(got, c.want) {
					t.Errorf("requests of %v messages, want %v", got, c.want)
				}
				q.holds(t, c.ms, 1, 1)
			})
		})
	}
}

func TestAnyMessagesGetThereInRequestsThatAreAllowed(t *testing.T) {
	seed := rand.Uint64()
	t.Log("seed", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	for range 50 {
		synctest.Test(t, func(t *testing.T) {
			bound := 1000 + r.IntN(20_000)
			q := &fakeSQS{maxBatch: bound}
			var ms []feed.Message
			for i := range r.IntN(60) {
				ms = append(ms, message(i, 1+r.IntN(bound-100)))
			}
			if err := sqsfeed.New(q, feedURL, sqsfeed.Options{MaxBatchBytes: bound}).Send(t.Context(), ms...); err != nil {
				t.Fatal(err)
			}
			q.holds(t, ms, 1, 1)
			for _, s := range q.sends {
				if n := requestBytes(s); n > bound {
					t.Errorf("a request of %d bytes, the bound is %d", n, bound)
				}
				for _, e := range s.Entries {
					if *e.MessageGroupId != "nightly" {
						t.Errorf("group %q", *e.MessageGroupId)
					}
				}
			}
		})
	}
}

func TestRequestsAreMadeSideBySideUpToABound(t *testing.T) {
	for _, c := range []struct{ option, want int }{{0, 8}, {3, 3}} {
		synctest.Test(t, func(t *testing.T) {
			q := &fakeSQS{}
			if err := sqsfeed.New(q, feedURL, sqsfeed.Options{Concurrency: c.option}).Send(t.Context(), messages(200, 1)...); err != nil {
				t.Fatal(err)
			}
			if q.most != c.want {
				t.Errorf("%d requests at once, want %d", q.most, c.want)
			}
		})
	}
}

func TestWhatAnAnswerDoesNotTakeIsSentAgain(t *testing.T) {
	notTaken := func(e *types.BatchResultErrorEntry) func(types.SendMessageBatchRequestEntry) *types.BatchResultErrorEntry {
		times := map[string]int{}
		var mu sync.Mutex
		return func(in types.SendMessageBatchRequestEntry) *types.BatchResultErrorEntry {
			mu.Lock()
			defer mu.Unlock()
			id := *in.MessageAttributes["spate-unit"].StringValue
			if times[id]++; times[id] < 7 && id[len(id)-1]%3 == 0 {
				c := *e
				return &c
			}
			return nil
		}
	}
	for name, e := range map[string]*types.BatchResultErrorEntry{
		"a fault of theirs":           {Code: aws.String("InternalError")},
		"a fault that nobody knows":   {Code: aws.String("Whatever")},
		"load":                        {Code: aws.String("ThrottlingException")},
		"load that is called a fault": {Code: aws.String("RequestThrottled"), SenderFault: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q, ms := &fakeSQS{refuse: notTaken(e)}, messages(33, 10)
				if err := sqsfeed.New(q, feedURL, sqsfeed.Options{}).Send(t.Context(), ms...); err != nil {
					t.Fatal(err)
				}
				q.holds(t, ms, 1, 1) // and what was taken is not sent again
			})
		})
	}
	t.Run("with a wait that grows, until the context ends", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			q := &fakeSQS{refuse: func(types.SendMessageBatchRequestEntry) *types.BatchResultErrorEntry {
				return &types.BatchResultErrorEntry{Code: aws.String("InternalError")}
			}}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			err := sqsfeed.New(q, feedURL, sqsfeed.Options{}).Send(ctx, messages(2, 10)...)
			if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "InternalError") || failure.Marked(err) {
				t.Errorf("Send: %v", err)
			}
			if n := len(q.sends); n < 12 || n > 40 {
				t.Errorf("%d requests in a minute", n)
			}
		})
	})
}

func TestASendThatCannotSucceedNamesWhatItFailsBy(t *testing.T) {
	refused := func(code, text string) func(types.SendMessageBatchRequestEntry) *types.BatchResultErrorEntry {
		return func(e types.SendMessageBatchRequestEntry) *types.BatchResultErrorEntry {
			if *e.MessageAttributes["spate-unit"].StringValue != string(message(7, 0).ID) {
				return nil
			}
			return &types.BatchResultErrorEntry{Code: &code, Message: &text, SenderFault: true}
		}
	}
	failed := func(err error) func(string) (error, error) {
		return func(string) (error, error) { return err, nil }
	}
	unit7 := string(message(7, 0).ID)
	for name, c := range map[string]struct {
		q      *fakeSQS
		scope  failure.Scope
		reason failure.Reason
		says   []string
	}{
		"a body":        {&fakeSQS{refuse: refused("InvalidMessageContents", "bad character")}, failure.Unit, failure.UnsupportedDescriptor, []string{unit7, "bad character"}},
		"a size":        {&fakeSQS{refuse: refused("InvalidParameterValue", "must be shorter than 1024 bytes")}, failure.Unit, failure.UnsupportedDescriptor, []string{unit7, "1024"}},
		"a key":         {&fakeSQS{refuse: refused("KmsAccessDenied", "The ciphertext refers to a customer master key")}, failure.Job, failure.Denied, []string{unit7, "KMS key"}},
		"no right":      {&fakeSQS{fault: failed(code("AccessDenied"))}, failure.Job, failure.Denied, []string{"allow sqs:SendMessage", feedURL}},
		"no queue":      {&fakeSQS{fault: failed(&types.QueueDoesNotExist{})}, failure.Job, failure.Config, []string{"queue's URL", feedURL}},
		"no queue, old": {&fakeSQS{fault: failed(code("AWS.SimpleQueueService.NonExistentQueue"))}, failure.Job, failure.Config, []string{"queue's URL"}},
		"load":          {&fakeSQS{fault: failed(&types.RequestThrottled{})}, failure.Transient, failure.RetriesExhausted, []string{"send to queue"}},
		"a lost sum":    {&fakeSQS{fault: failed(errors.New("who knows"))}, failure.Unit, failure.RetriesExhausted, nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				err := sqsfeed.New(c.q, feedURL, sqsfeed.Options{}).Send(t.Context(), messages(12, 10)...)
				marked(t, err, c.scope, c.reason, c.says...)
			})
		})
	}
}

func TestALowerBoundOfTheEndpointIsFound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, ms := &fakeSQS{maxBatch: 256 << 10}, messages(23, 100<<10)
		if err := sqsfeed.New(q, feedURL, sqsfeed.Options{}).Send(t.Context(), ms...); err != nil {
			t.Fatal(err)
		}
		q.holds(t, ms, 1, 1)
	})
	synctest.Test(t, func(t *testing.T) {
		q := &fakeSQS{maxBatch: 1000}
		err := sqsfeed.New(q, feedURL, sqsfeed.Options{}).Send(t.Context(), messages(4, 2000)...)
		marked(t, err, failure.Unit, failure.RetriesExhausted, "BatchRequestTooLong")
	})
}

func TestAnAnswerThatWasLostCostsARepeatAtMost(t *testing.T) {
	for n := 1; n <= 4; n++ {
		synctest.Test(t, func(t *testing.T) {
			seen := 0
			q, ms := &fakeSQS{}, messages(35, 10)
			q.fault = func(string) (error, error) {
				if seen++; seen == n {
					return nil, errors.New("connection reset")
				}
				return nil, nil
			}
			f := sqsfeed.New(q, feedURL, sqsfeed.Options{})
			if err := f.Send(t.Context(), ms...); err == nil {
				t.Fatal("an answer was lost, and Send says all is well")
			}
			if err := f.Send(t.Context(), ms...); err != nil { // as the contract wants
				t.Fatal(err)
			}
			q.holds(t, ms, 1, 2)
		})
	}
}

func TestABodyThatAQueueRefusesIsRefusedBeforeAnythingIsSent(t *testing.T) {
	for name, body := range map[string]string{
		"empty":              "",
		"a control":          "a\x01b",
		"zero":               "a\x00",
		"another control":    "\x1f",
		"U+FFFE":             "a\ufffe",
		"U+FFFF":             "\uffff",
		"no UTF-8":           "a\xff",
		"a surrogate":        "\xed\xa0\x80",
		"more than 1 MiB":    strings.Repeat("a", 1<<20+1),
		"with what it bears": strings.Repeat("a", 1<<20),
	} {
		t.Run(name, func(t *testing.T) {
			q, ms := &fakeSQS{}, messages(25, 10)
			ms[24].Body = []byte(body)
			err := sqsfeed.New(q, feedURL, sqsfeed.Options{}).Send(t.Context(), ms...)
			marked(t, err, failure.Unit, failure.UnsupportedDescriptor, string(ms[24].ID))
			if len(q.sends) > 0 {
				t.Error("the others were sent")
			}
		})
	}
	t.Run("and no other", func(t *testing.T) {
		q, m := &fakeSQS{}, message(1, 0)
		m.Body = []byte("\t\n\r \x7f\u0085\u2028\ufffd\ufeff\U0001F600\U0010FFFF")
		if err := sqsfeed.New(q, feedURL, sqsfeed.Options{}).Send(t.Context(), m); err != nil {
			t.Error(err)
		}
	})
}

func TestADescriptorIsFitForAQueueWhateverItsKeys(t *testing.T) {
	var every strings.Builder
	for r := rune(1); r < 0x300; r++ {
		every.WriteRune(r)
	}
	for _, key := range []string{every.String(), "\ufffe\uffff\ufeff\u2028", "\U0001F600\U0010FFFF"} {
		u := unit.Unit{Job: "nightly", Run: 1, Bucket: "b", Objects: []unit.Object{{Key: key, Size: 1, ETag: `"e"`}}, Origin: unit.FromList}
		body, err := u.Encode()
		if err != nil {
			t.Fatal(err)
		}
		q := &fakeSQS{}
		if err := sqsfeed.New(q, feedURL, sqsfeed.Options{}).Send(t.Context(), feed.Message{ID: "s3-x", Job: "nightly", Body: body}); err != nil {
			t.Error(err)
		}
	}
}
