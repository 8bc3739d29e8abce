#pragma once

namespace megascope {

/// From now on reading a mapped file that another program has cut off meanwhile gives zeros instead of ending this process (SIGBUS).
/// For programs that notice by themselves that a file changed and say so; a program that computes with what it reads must not call it:
/// no number is better than a wrong one. May be called again.
void guard_against_cut_off_files();

/// Some page was replaced by zeros since the guard was set.
[[nodiscard]] bool pages_were_cut_off();

} // namespace megascope
