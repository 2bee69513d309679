# Sources the user's own file of this name, as zsh would have done, and measures how long it takes.
if (( ${+FIRSTBYTE_OWN} )); then ZDOTDIR=$FIRSTBYTE_OWN; else unset ZDOTDIR; fi
firstbyte_file=${ZDOTDIR:-$HOME}/$firstbyte_name
if [[ -r $firstbyte_file ]] && (( ${+FIRSTBYTE_PLACES} )); then
  TRAPDEBUG() {
    emulate -L zsh
    print -r -- "at	$EPOCHREALTIME	${sysparams[pid]}	${funcfiletrace[1]}	${ZSH_DEBUG_CMD%%$'\n'*}" >>! $FIRSTBYTE_LOADS/zsh-at-$$
  }
  source $firstbyte_file
  unfunction TRAPDEBUG 2> /dev/null
elif [[ -r $firstbyte_file ]]; then
  zprof -c
  firstbyte_from=$EPOCHREALTIME
  source $firstbyte_file
  print -r -- "rc	$firstbyte_from	$EPOCHREALTIME	$firstbyte_file" >> $FIRSTBYTE_LOADS/zsh-$$
  zprof >> $FIRSTBYTE_LOADS/zsh-$$
fi
if (( ${+ZDOTDIR} )); then FIRSTBYTE_OWN=$ZDOTDIR; else unset FIRSTBYTE_OWN; fi
# the last of the files: from now on everything is as without the question
if [[ -o login ]]; then firstbyte_last=.zlogin; elif [[ -o interactive ]]; then firstbyte_last=.zshrc; else firstbyte_last=.zshenv; fi
[[ $firstbyte_name = $firstbyte_last ]] || ZDOTDIR=$FIRSTBYTE_HOOKS
