# report_running: which of the user's processes still run, and what each waits for in the kernel.
# Without a fork: a process costs much on a busy emulated machine.
report_running() {
  local process
  echo "running when the time was up (pid, state, waits in, rank, command):"
  for process in /proc/[0-9]*; do report_process "$process"; done 2>/dev/null
  echo "(these were all)"
}

report_process() {
  local words word line stat field wait="" rank=""
  mapfile -d '' words <"$1/cmdline" && read -r stat <"$1/stat" || return
  line="${words[*]}"
  line=${line//$'\n'/ }
  stat=${stat##*) }
  if [ -z "$line" ]; then
    # A process that ends has no command line, and a thread of the kernel has none ever.
    field=($stat)
    (((field[6] & 0x200000) == 0)) || return
    read -r line <"$1/comm"
    line="[$line]"
  fi
  case $line in
    *guest/*.sh* | *bin/limited\ * | "sleep $seconds" | "sleep 3600" | cat\ /run/softroce* | */sshd*) return ;;
  esac
  case ${1#/proc/} in $$ | $BASHPID) return ;; esac
  read -r wait <"$1/wchan"
  mapfile -d '' words <"$1/environ"
  for word in "${words[@]}"; do
    case $word in PMI_RANK=*) rank="rank ${word#*=}" ;; esac
  done
  echo "  ${1#/proc/} ${stat%% *} ${wait:-?} $rank $line"
}
