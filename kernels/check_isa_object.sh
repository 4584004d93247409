#!/bin/sh
# Usage: check_isa_object.sh OBJECT ENTRY nothing|lends|borrows
# Fails unless ENTRY is the object's only global symbol and the object holds nothing that could leak
# into another instruction set's code or run before main: no weak, unique or mutable symbols, no
# static constructors. One that lends has global kernels too, which one that borrows calls.
set -eu
object=$1
entry=$2
shares=$3
kernels='_ZN2dt3cpu7kernels.*'
nm=${NM:-nm}

fail() {
  echo "$object: $1" >&2
  rm -f "$object"  # so that the next build tries again
  exit 1
}

symbols=$("$nm" "$object")

globals=$(printf '%s\n' "$symbols" | awk '$2 == "T" { print $3 }')
if [ "$shares" = lends ]; then
  globals=$(printf '%s\n' "$globals" | grep -vx "$kernels")
fi
[ "$globals" = "$entry" ] || fail "the global functions are not just $entry: $globals"

# W, V: weak; u: unique; B, D and b: data that could be written. (d is left out: gcc files constant
# tables that hold addresses, such as arrays of function pointers, under it.)
leaks=$(printf '%s\n' "$symbols" | awk '$2 ~ /^[WVuBDb]$/ { print $2, $3 }')
[ -z "$leaks" ] || fail "these symbols are weak or mutable: $leaks"

# The compiler itself calls the mem functions, and kernels/cpu/once is compiled once for any
# processor; anything else would be a call out of the instruction set's own code.
once='dt_factor_(solve|workspace)|dt_(gather|scatter)_elements|dt_pick_losses[a-z_]*'
once="$once|_ZN2dt5calls9read_callI.*"
allowed="^(memcpy|memmove|memset|memcmp|_GLOBAL_OFFSET_TABLE_|$once)\$"
if [ "$shares" = borrows ]; then
  allowed="$allowed|^$kernels"
fi
calls=$(printf '%s\n' "$symbols" | awk '$1 == "U" { print $2 }' | grep -vE "$allowed" || true)
[ -z "$calls" ] || fail "it calls what is not in it, such as kernels that nobody has written:
$(printf '%s\n' "$calls" | c++filt)"

case $(objdump -h "$object") in
  *.init_array*) fail "it has static constructors (.init_array)" ;;
esac
