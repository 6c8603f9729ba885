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

// keyKey is the todo's: one for each key, whatever version of it.
func keyKey(job string, o unit.Object) attributes {
	o = unit.Object{Key: o.Key}
	return key(keysPartition(job), string(o.ID()))
}

// Again implements [ledger.Announced]. A number comes once: a todo that was put
// in the place of one that was removed has another than that.
func (l *Ledger) Again(ctx context.Context, job string, o unit.Object) error {
	var number [8]byte
	_, _ = rand.Read(number[:]) // it never fails
	var packed packer
	packed.object(o)
	_, _, err := l.update(ctx, "look again at a key of job "+job, write{
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
	do := "list what is to be looked at again of job " + job
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
	return l.remove(ctx, "note that a key of job "+job+" was looked at again",
		write{key: keyKey(job, t.Object), when: "#number = :number", values: attributes{"number": num(t.Number)}})
}
