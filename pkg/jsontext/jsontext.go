// Package jsontext is what the packages that read and write JSON by hand have in
// common: the strings of it, and where the values in an object or array are.
//
// It does not decode, and does not say whether a text is valid. The scanner of
// jsondecode does, in one pass with what it looks for; the framers of frame find
// values of which the end may not have come yet. Both keep their own loops.
//
// # Strings
//
// AppendQuoted escapes what must be and nothing else: the quote, the backslash and
// what is below U+0020, with \n, \r and \t for these and \u00XX for the others.
// Each byte that is not UTF-8 becomes U+FFFD.
//
// AppendUnescaped takes any bytes and keeps those that are not UTF-8: a record
// comes back from a string as it was, and a decoder that wants U+FFFD in their
// place puts it there. A surrogate without its other half becomes U+FFFD, as with
// encoding/json.
//
// # Values
//
// In a valid text a Walker finds the values that there are, as they are written.
// In any other it stays within the text, and reports a fault of what is around the
// values, but not of one inside them.
package jsontext
