;; The inner loop of the search for like places: how much a stretch of stereo sound has in common with another one, at
;; each of many places. Four samples at a time, at four places at a time.
;; Kept built in timescale-search-kernel-binary.ts. After a change here run (Debian package wabt)
;;   wat2wasm src/media/filters/timescale-search-kernel.wat --output=- | base64 --wrap=0
;; and put the text there. A test compares it with the plain loop of timescale-search-kernel.ts.
;;
;; Memory, in bytes, all f32: 0 here left, 768;  3072 here right;  6144 there left, 800;  9344 there right;
;; 12544 products, 160.
(module
  (import "host" "memory" (memory 1))

  ;; products[p] is the sum of here[n] * there[n + p] over both channels and n up to `length`, a multiple of 4; p goes up
  ;; to `count`, rounded up to a multiple of 4.
  (func (export "compare") (param $length i32) (param $count i32)
    (local $place i32) (local $n i32) (local $there i32) (local $h v128)
    (local $a v128) (local $b v128) (local $c v128) (local $d v128)
    (local.set $length (i32.shl (local.get $length) (i32.const 2)))
    (local.set $count (i32.shl (local.get $count) (i32.const 2)))
    (block $done (loop $nextPlaces
      (br_if $done (i32.ge_u (local.get $place) (local.get $count)))
      (local.set $a (v128.const f32x4 0 0 0 0))
      (local.set $b (v128.const f32x4 0 0 0 0))
      (local.set $c (v128.const f32x4 0 0 0 0))
      (local.set $d (v128.const f32x4 0 0 0 0))
      (local.set $n (i32.const 0))
      (local.set $there (local.get $place))
      (loop $nextSamples
        (local.set $h (v128.load (local.get $n)))
        (local.set $a (f32x4.add (local.get $a) (f32x4.mul (local.get $h) (v128.load offset=6144 (local.get $there)))))
        (local.set $b (f32x4.add (local.get $b) (f32x4.mul (local.get $h) (v128.load offset=6148 (local.get $there)))))
        (local.set $c (f32x4.add (local.get $c) (f32x4.mul (local.get $h) (v128.load offset=6152 (local.get $there)))))
        (local.set $d (f32x4.add (local.get $d) (f32x4.mul (local.get $h) (v128.load offset=6156 (local.get $there)))))
        (local.set $h (v128.load offset=3072 (local.get $n)))
        (local.set $a (f32x4.add (local.get $a) (f32x4.mul (local.get $h) (v128.load offset=9344 (local.get $there)))))
        (local.set $b (f32x4.add (local.get $b) (f32x4.mul (local.get $h) (v128.load offset=9348 (local.get $there)))))
        (local.set $c (f32x4.add (local.get $c) (f32x4.mul (local.get $h) (v128.load offset=9352 (local.get $there)))))
        (local.set $d (f32x4.add (local.get $d) (f32x4.mul (local.get $h) (v128.load offset=9356 (local.get $there)))))
        (local.set $there (i32.add (local.get $there) (i32.const 16)))
        (br_if $nextSamples
          (i32.lt_u (local.tee $n (i32.add (local.get $n) (i32.const 16))) (local.get $length))))
      ;; Sums of the lanes: first a b a b (two halves of each) and the same of c and d, then halves are added.
      (local.set $a (f32x4.add
        (i8x16.shuffle 0 1 2 3 16 17 18 19 4 5 6 7 20 21 22 23 (local.get $a) (local.get $b))
        (i8x16.shuffle 8 9 10 11 24 25 26 27 12 13 14 15 28 29 30 31 (local.get $a) (local.get $b))))
      (local.set $c (f32x4.add
        (i8x16.shuffle 0 1 2 3 16 17 18 19 4 5 6 7 20 21 22 23 (local.get $c) (local.get $d))
        (i8x16.shuffle 8 9 10 11 24 25 26 27 12 13 14 15 28 29 30 31 (local.get $c) (local.get $d))))
      (v128.store offset=12544 (local.get $place) (f32x4.add
        (i8x16.shuffle 0 1 2 3 4 5 6 7 16 17 18 19 20 21 22 23 (local.get $a) (local.get $c))
        (i8x16.shuffle 8 9 10 11 12 13 14 15 24 25 26 27 28 29 30 31 (local.get $a) (local.get $c))))
      (local.set $place (i32.add (local.get $place) (i32.const 16)))
      (br $nextPlaces)))))
