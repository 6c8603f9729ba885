// Package jsontext is what the packages that read or write JSON by hand have in
// common: strings made and understood, and the values of an object or array found.
// It makes no Go values and does not say whether a text is valid: see
// jsondecode.Check for that.
//
// # Strings
//
// AppendQuoted escapes what JSON wants escaped and nothing else: quotes,
// backslashes and what is below U+0020, of which \n, \r and \t have their letters
// and the others are \u00XX. Each byte that is not UTF-8 becomes U+FFFD.
//
// AppendUnescaped takes any bytes. It keeps those that are not UTF-8, so that a
// record can be had again from the string that holds it; who does not want them has
// to look. An unpaired surrogate becomes U+FFFD, as encoding/json has it. An escape
// that JSON does not have is reported.
//
// # Values
//
// Skip and a Walker believe what a value is made of: they look for its end alone.
// Of a valid text they find each value. Of any other they find something within
// the text, or nothing: they never read beyond it.
package jsontext
