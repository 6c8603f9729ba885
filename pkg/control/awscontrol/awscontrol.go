// Package awscontrol is a stack on AWS, for package control and for the stack's own
// functions: it finds the stack with CloudFormation, calls its functions with
// Lambda, keeps its reports in S3 and wires the notifications of its buckets.
//
// It decides nothing and keeps no state. The ledger is not here but in its driver,
// and package app makes the clients of both.
//
// The law: what an error of a service means is said here, once, with the action
// that was refused and what it was refused on.
package awscontrol
