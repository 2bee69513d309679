# zsh reads this file instead of the user's own one, because ZDOTDIR says so.
zmodload zsh/datetime zsh/zprof zsh/system
typeset -g FIRSTBYTE_HOOKS=${${(%):-%x}:h} firstbyte_name=${${(%):-%x}:t}
source $FIRSTBYTE_HOOKS/measure.zsh
