// SPDX-License-Identifier: MIT

package scheduler

import "github.com/penstock/penstock/scheduler/kvcache"

// minFollowed is the shortest prefix that is waited for: a shorter one is computed beside the other
// in about the time of a pass.
const minFollowed = 32

// followsRunning reports whether a running job is computing a prefix that a queued one has in
// common with it: the queued one waits and then shares those cells. If the leader ends or stalls,
// the follower computes the prefix itself.
func (s *Scheduler) followsRunning(j *job) bool {
	if !j.reusesCells() || j.kind != kindAnswer || j.drawer.branch.wantsPromptRows() || !s.cache.Shares() {
		return false
	}
	if j.leader != nil && j.leader.isAboutToHave(j.sharedLen) {
		return true
	}
	j.leader, j.sharedLen = s.findLeader(j.drawer.branch, j.drawer.answer.Expected(), j.sharedLen)
	return j.leader != nil
}

// findLeader finds the branch of a running job that is computing a prefix which b, without cells
// yet, has in common with it, and how long that is. If there is none, it returns nil and n.
func (s *Scheduler) findLeader(b *branch, tokens []Token, n int) (found *branch, common int) {
	j, cached := b.job, s.cache.LongestPrefix(tokens, b.job.scope)
	for _, r := range s.running {
		if r.drawer.background.Busy() || r.scope.Salt != j.scope.Salt || r.req.Priority < j.req.Priority { // the background sampler of a busy one writes its tokens now
			continue
		}
		if j.inSlot() && j.before(r) { // it may wait for cells that j has
			continue
		}
		for _, l := range r.branches {
			if l.seq == nil || l.busy() { // what has no cells computes nothing, and a program may have many such with as long a beginning
				continue
			}
			common := s.config.Pieces.Border(tokens, r.scope.Common(j.scope, kvcache.CommonPrefix(l.tokens(), tokens[:len(tokens)-1])))
			near := common > cached && l.computed() >= cached // it already has all that was found and gains more with each chunk
			if common >= minFollowed && (near || common-cached >= minFollowed) && l.isAboutToHave(common) {
				s.cache.Want(l.seq, common)
				return l, common
			}
		}
	}
	return nil, n
}

// isAboutToHave reports whether a branch is about to have n tokens in the cache.
func (b *branch) isAboutToHave(n int) bool {
	return b.seq != nil && b.awake() && b.job.checkReady() && b.seq.Len() < n && len(b.tokens()) >= n
}
