// Package pkg holds Spate's packages in layers; imports point down only, and
// tests/arch enforces it.
//
//	app                                config → pipeline; joins contracts and drivers
//	lister intake reader finalizer     protocols: feed and ledger, no bytes
//	pipe                               one unit's bytes → records → blocks → sinks
//	object/… feed/… ledger/… sink/… decode/…   drivers
//	object feed ledger codec frame decode chain sink   contracts, and what all drivers share
//	plan event segment report price    pure: packing, notifications, cut rule, verdict, cost
//	failure unit record reject budget backoff metric config   values
//
// The laws that every part keeps. Tests cite them by number.
//
//   - INV-1 A unit is done only after every sink durably acked every block
//     derived from it; a job is completed only when every planned unit is done.
//   - INV-2 A read is pinned: no unit ever holds bytes of two versions of an
//     object.
//   - INV-3 Same listing, same units, same ids; same unit, faulty members and
//     configuration, same blocks and tokens.
//   - INV-4 Readers never list.
//   - INV-5 Nothing is dropped silently: skipped, filtered and rejected records,
//     ignored events and faulty members are counted and reported.
//   - INV-6 Memory is bounded by configuration, not by input.
//   - INV-7 The ledger knows a unit before the feed does, and a message is acked
//     only when its unit is done or its item says what is due. No crash at any
//     instruction loses a unit.
//   - INV-8 No self-feeding loop: a sink or report prefix inside the source
//     prefix is refused, and readers never send.
//   - INV-9 A fault of identity or configuration stops its job once, not once per
//     unit, and no other job.
//   - INV-10 AWS clients take endpoint, credentials and region from the standard
//     SDK chain; nothing is hard-coded to an emulator.
package pkg
