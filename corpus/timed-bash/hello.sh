# timed_hello of Hello World Overdone: times the first and the hundredth print, and two readings of the clock itself.
# bash writes only by its builtins, so the marker is a printf. A reading is a string such as 1790000000.123456.
clock=1000000
for ((i = 0; i < 100; i++)); do
  start=$EPOCHREALTIME
  end=$EPOCHREALTIME
  taken=$((${end/[.,]/} - ${start/[.,]/}))
  if ((taken < clock)); then clock=$taken; fi
done
printf '>>>> before print >>>>>\n'
for ((i = 1; i <= 100; i++)); do
  start=$EPOCHREALTIME
  echo hello world
  end=$EPOCHREALTIME
  taken=$((${end/[.,]/} - ${start/[.,]/}))
  if ((i == 1)); then first=$taken; fi
done
echo "first $((first * 1000)) ns, hundredth $((taken * 1000)) ns, clock $((clock * 1000)) ns" >&2
