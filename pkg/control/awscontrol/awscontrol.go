// Package awscontrol is a stack in AWS as control and the stack's own functions
// ask for it: found by CloudFormation, its functions called by way of Lambda, its
// reports read from S3 and put there.
//
// It decides nothing and keeps nothing, and the ledger is not here: that is the
// ledger driver's. Its clients are made by who joins it with that.
//
// The law: what an error of a service means is said here, once, with the action
// that was refused and what it was refused on.
package awscontrol
