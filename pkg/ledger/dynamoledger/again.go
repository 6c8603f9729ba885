package dynamoledger

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"fmt"

	"github.com/spate-go/spate/pkg/ledger"
	"github.com/spate-go/spate/pkg/unit"
)

func keysPartition(job string) string { return "job#" + job + "#keys" }

// keyKey is the key of the todo: one for each object key, whatever its version.
func keyKey(job string, o unit.Object) attributes {
	o = unit.Object{Key: o.Key}
	return key(keysPartition(job), string(o.ID()))
}

// Again implements [ledger.Announced]. No number comes twice: a todo that is
// put in the place of one that was removed has a different number.
func (l *Ledger) Again(ctx context.Context, job string, o unit.Object) error {
	var number [8]byte
	_, _ = rand.Read(number[:]) // it never fails
	var packed packer
	packed.object(o)
	_, _, err := l.update(ctx, onJob("look again at a key of", job), write{
		key: keyKey(job, o),
		set: "SET #object = :object, #number = :number, #expires = :expires",
		values: attributes{
			"object": bin(packed), "number": num(int64(binary.LittleEndian.Uint64(number[:]) >> 1)), "expires": l.expires(),
		},
	})
	return err
}

// Keys implements [ledger.Minder].
func (l *Ledger) Keys(ctx context.Context, job string, yield func(ledger.KeyTodo) error) error {
	do := onJob("list what is to be looked at again of", job)
	return l.query(ctx, do, partition(keysPartition(job)), func(a attributes) error {
		f := fields{of: a}
		t := ledger.KeyTodo{Number: f.int("number")}
		f.packed("object", func(u *unpacker) { t.Object = u.object() })
		if f.err != nil {
			return fmt.Errorf("%s: %w", do, f.err)
		}
		return yield(t)
	})
}

// KeySent implements [ledger.Minder].
func (l *Ledger) KeySent(ctx context.Context, job string, t ledger.KeyTodo) error {
	return l.remove(ctx, op{verb: "note that a key of job " + job + " was looked at again"},
		write{key: keyKey(job, t.Object), when: "#number = :number", values: attributes{"number": num(t.Number)}})
}
