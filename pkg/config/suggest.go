package config

import "strings"

// hint ends a complaint about a name: with the known one that it resembles, or
// else with all of them.
func hint(name string, known []string) string {
	if guess := suggest(name, known); guess != "" {
		return ", did you mean " + guess + "?"
	}
	if len(known) == 0 {
		return ""
	}
	return "; known here: " + strings.Join(known, ", ")
}

// suggest returns the known name that name most probably stands for: one that
// differs in case and dashes only, or by a typing error or two. Empty: there is
// none.
func suggest(name string, known []string) string {
	best, least := "", 1+min(2, max(1, len(name)/3))
	for _, k := range known {
		if d := Distance(fold(name), fold(k)); d < least {
			best, least = k, d
		}
	}
	return best
}

func fold(s string) string {
	return strings.ToLower(strings.NewReplacer("-", "", "_", "", " ", "").Replace(s))
}

// Distance counts the insertions, deletions, replacements and swaps of
// neighbours that turn a into b. Names are short; a long one resembles none.
func Distance(a, b string) int {
	if len(a) > 64 || len(b) > 64 {
		return 64
	}
	var older [65]int
	prev, cur := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := 1; i <= len(a); i++ {
		cur[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			cur[j] = min(prev[j]+1, cur[j-1]+1, prev[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				cur[j] = min(cur[j], older[j-2]+1)
			}
		}
		copy(older[:], prev)
		prev, cur = cur, prev
	}
	return prev[len(b)]
}
