;; The inner loops of the loudness stage: K weighting in 64-bit floats, left and right in the two lanes of a vector; peaks
;; between samples, the check of samples and the gain in 32-bit floats, four samples at a time.
;; Kept built in loudness-kernel-binary.ts. After a change here run (Debian package wabt)
;;   wat2wasm src/media/loudness/loudness-kernel.wat --output=- | base64 --wrap=0
;; and put the text there. A test compares it with the plain loops of loudness-kernel.ts.
;;
;; Memory, in bytes, as loudness-kernel.ts lays it out:
;;      0  what the weighting remembers: w1, w2 of the shelf, v1, v2 of the high-pass, each left and right, f64
;;     64  taps, each a vector of four equal f32: for each of six pairs of samples one for half way, then an even and an odd one
;;         for each of 1/8, 2/8 and 3/8 of the way, which serve for 7/8, 6/8 and 5/8 as well
;;   1024  peaks found, f32
;;   2048  left, 1280 f32;  7168 right;  12288 left output, 1024 f32;  16384 right output
;;  20480  for each chunk the factor at its start and what it grows by from sample to sample, f32
(module
  (import "host" "memory" (memory 1))

  ;; w = x - a2 w2 - a1 w1;  y = b0 w + b1 w1 + b2 w2;  v = y - c2 v2 - c1 v1;  z = v - 2 v1 + v2;  sum += z z
  (func (export "weigh") (param $start i32) (param $count i32) (result f64)
    (local $at i32) (local $end i32) (local $sum v128) (local $z v128)
    (local $w v128) (local $w1 v128) (local $w2 v128) (local $v v128) (local $v1 v128) (local $v2 v128)
    (local.set $at (i32.shl (local.get $start) (i32.const 2)))
    (local.set $end (i32.add (local.get $at) (i32.shl (local.get $count) (i32.const 2))))
    (local.set $w1 (v128.load (i32.const 0)))
    (local.set $w2 (v128.load (i32.const 16)))
    (local.set $v1 (v128.load (i32.const 32)))
    (local.set $v2 (v128.load (i32.const 48)))
    (loop $nextSample
      (local.set $w (f64x2.sub
        (f64x2.sub
          (f64x2.promote_low_f32x4 (i8x16.shuffle 0 1 2 3 16 17 18 19 4 5 6 7 20 21 22 23
            (v128.load32_zero offset=2048 (local.get $at)) (v128.load32_zero offset=7168 (local.get $at))))
          (f64x2.mul (v128.const f64x2 0.73248077421585 0.73248077421585) (local.get $w2)))
        (f64x2.mul (v128.const f64x2 -1.69065929318241 -1.69065929318241) (local.get $w1))))
      (local.set $v (f64x2.sub
        (f64x2.sub
          (f64x2.add
            (f64x2.add
              (f64x2.mul (v128.const f64x2 1.53512485958697 1.53512485958697) (local.get $w))
              (f64x2.mul (v128.const f64x2 -2.69169618940638 -2.69169618940638) (local.get $w1)))
            (f64x2.mul (v128.const f64x2 1.19839281085285 1.19839281085285) (local.get $w2)))
          (f64x2.mul (v128.const f64x2 0.99007225036621 0.99007225036621) (local.get $v2)))
        (f64x2.mul (v128.const f64x2 -1.99004745483398 -1.99004745483398) (local.get $v1))))
      (local.set $z (f64x2.add
        (f64x2.sub (local.get $v) (f64x2.add (local.get $v1) (local.get $v1)))
        (local.get $v2)))
      (local.set $w2 (local.get $w1))
      (local.set $w1 (local.get $w))
      (local.set $v2 (local.get $v1))
      (local.set $v1 (local.get $v))
      (local.set $sum (f64x2.add (local.get $sum) (f64x2.mul (local.get $z) (local.get $z))))
      (br_if $nextSample (i32.lt_u (local.tee $at (i32.add (local.get $at) (i32.const 4))) (local.get $end))))
    (v128.store (i32.const 0) (local.get $w1))
    (v128.store (i32.const 16) (local.get $w2))
    (v128.store (i32.const 32) (local.get $v1))
    (v128.store (i32.const 48) (local.get $v2))
    (f64.add (f64x2.extract_lane 0 (local.get $sum)) (f64x2.extract_lane 1 (local.get $sum))))

  ;; The highest absolute value of 28 samples: from 6 before byte address $at to 22 behind it.
  (func $around (param $at i32) (result v128)
    (f32x4.pmax (f32x4.pmax
      (f32x4.pmax
        (f32x4.abs (v128.load (i32.sub (local.get $at) (i32.const 24))))
        (f32x4.abs (v128.load (i32.sub (local.get $at) (i32.const 8)))))
      (f32x4.pmax
        (f32x4.abs (v128.load offset=8 (local.get $at)))
        (f32x4.abs (v128.load offset=24 (local.get $at)))))
      (f32x4.pmax
        (f32x4.pmax
          (f32x4.abs (v128.load offset=40 (local.get $at)))
          (f32x4.abs (v128.load offset=56 (local.get $at))))
        (f32x4.abs (v128.load offset=72 (local.get $at))))))

  ;; The highest of the 17 samples at byte address $at and of what lies half way between them.
  (func $halfWay (param $at i32) (result v128)
    (local $end i32) (local $highest v128) (local $x v128) (local $next v128) (local $half v128)
    (local.set $end (i32.add (local.get $at) (i32.const 64)))
    (loop $nextFour
      (local.set $x (v128.load (local.get $at)))
      (local.set $next (v128.load offset=4 (local.get $at)))
      (local.set $half (f32x4.mul (v128.load (i32.const 64)) (f32x4.add (local.get $x) (local.get $next))))
      (local.set $half (f32x4.add (local.get $half) (f32x4.mul (v128.load (i32.const 176))
        (f32x4.add (v128.load (i32.sub (local.get $at) (i32.const 4))) (v128.load offset=8 (local.get $at))))))
      (local.set $half (f32x4.add (local.get $half) (f32x4.mul (v128.load (i32.const 288))
        (f32x4.add (v128.load (i32.sub (local.get $at) (i32.const 8))) (v128.load offset=12 (local.get $at))))))
      (local.set $half (f32x4.add (local.get $half) (f32x4.mul (v128.load (i32.const 400))
        (f32x4.add (v128.load (i32.sub (local.get $at) (i32.const 12))) (v128.load offset=16 (local.get $at))))))
      (local.set $half (f32x4.add (local.get $half) (f32x4.mul (v128.load (i32.const 512))
        (f32x4.add (v128.load (i32.sub (local.get $at) (i32.const 16))) (v128.load offset=20 (local.get $at))))))
      (local.set $half (f32x4.add (local.get $half) (f32x4.mul (v128.load (i32.const 624))
        (f32x4.add (v128.load (i32.sub (local.get $at) (i32.const 20))) (v128.load offset=24 (local.get $at))))))
      (local.set $highest (f32x4.pmax
        (f32x4.pmax (local.get $highest) (f32x4.abs (local.get $next)))
        (f32x4.pmax (f32x4.abs (local.get $x)) (f32x4.abs (local.get $half)))))
      (br_if $nextFour (i32.lt_u (local.tee $at (i32.add (local.get $at) (i32.const 16))) (local.get $end))))
    (local.get $highest))

  ;; The highest of six other places between each of the 16 samples at byte address $at and the next.
  (func $otherPlaces (param $at i32) (result v128)
    (local $end i32) (local $highest v128) (local $s v128) (local $d v128) (local $before v128) (local $behind v128)
    (local $even1 v128) (local $odd1 v128) (local $even2 v128) (local $odd2 v128) (local $even3 v128) (local $odd3 v128)
    (local.set $end (i32.add (local.get $at) (i32.const 64)))
    (loop $nextFour
      (local.set $before (v128.load (local.get $at)))
      (local.set $behind (v128.load offset=4 (local.get $at)))
      (local.set $s (f32x4.add (local.get $before) (local.get $behind)))
      (local.set $d (f32x4.sub (local.get $before) (local.get $behind)))
      (local.set $even1 (f32x4.mul (v128.load (i32.const 80)) (local.get $s)))
      (local.set $odd1 (f32x4.mul (v128.load (i32.const 96)) (local.get $d)))
      (local.set $even2 (f32x4.mul (v128.load (i32.const 112)) (local.get $s)))
      (local.set $odd2 (f32x4.mul (v128.load (i32.const 128)) (local.get $d)))
      (local.set $even3 (f32x4.mul (v128.load (i32.const 144)) (local.get $s)))
      (local.set $odd3 (f32x4.mul (v128.load (i32.const 160)) (local.get $d)))

      (local.set $before (v128.load (i32.sub (local.get $at) (i32.const 4))))
      (local.set $behind (v128.load offset=8 (local.get $at)))
      (local.set $s (f32x4.add (local.get $before) (local.get $behind)))
      (local.set $d (f32x4.sub (local.get $before) (local.get $behind)))
      (local.set $even1 (f32x4.add (local.get $even1) (f32x4.mul (v128.load (i32.const 192)) (local.get $s))))
      (local.set $odd1 (f32x4.add (local.get $odd1) (f32x4.mul (v128.load (i32.const 208)) (local.get $d))))
      (local.set $even2 (f32x4.add (local.get $even2) (f32x4.mul (v128.load (i32.const 224)) (local.get $s))))
      (local.set $odd2 (f32x4.add (local.get $odd2) (f32x4.mul (v128.load (i32.const 240)) (local.get $d))))
      (local.set $even3 (f32x4.add (local.get $even3) (f32x4.mul (v128.load (i32.const 256)) (local.get $s))))
      (local.set $odd3 (f32x4.add (local.get $odd3) (f32x4.mul (v128.load (i32.const 272)) (local.get $d))))

      (local.set $before (v128.load (i32.sub (local.get $at) (i32.const 8))))
      (local.set $behind (v128.load offset=12 (local.get $at)))
      (local.set $s (f32x4.add (local.get $before) (local.get $behind)))
      (local.set $d (f32x4.sub (local.get $before) (local.get $behind)))
      (local.set $even1 (f32x4.add (local.get $even1) (f32x4.mul (v128.load (i32.const 304)) (local.get $s))))
      (local.set $odd1 (f32x4.add (local.get $odd1) (f32x4.mul (v128.load (i32.const 320)) (local.get $d))))
      (local.set $even2 (f32x4.add (local.get $even2) (f32x4.mul (v128.load (i32.const 336)) (local.get $s))))
      (local.set $odd2 (f32x4.add (local.get $odd2) (f32x4.mul (v128.load (i32.const 352)) (local.get $d))))
      (local.set $even3 (f32x4.add (local.get $even3) (f32x4.mul (v128.load (i32.const 368)) (local.get $s))))
      (local.set $odd3 (f32x4.add (local.get $odd3) (f32x4.mul (v128.load (i32.const 384)) (local.get $d))))

      (local.set $before (v128.load (i32.sub (local.get $at) (i32.const 12))))
      (local.set $behind (v128.load offset=16 (local.get $at)))
      (local.set $s (f32x4.add (local.get $before) (local.get $behind)))
      (local.set $d (f32x4.sub (local.get $before) (local.get $behind)))
      (local.set $even1 (f32x4.add (local.get $even1) (f32x4.mul (v128.load (i32.const 416)) (local.get $s))))
      (local.set $odd1 (f32x4.add (local.get $odd1) (f32x4.mul (v128.load (i32.const 432)) (local.get $d))))
      (local.set $even2 (f32x4.add (local.get $even2) (f32x4.mul (v128.load (i32.const 448)) (local.get $s))))
      (local.set $odd2 (f32x4.add (local.get $odd2) (f32x4.mul (v128.load (i32.const 464)) (local.get $d))))
      (local.set $even3 (f32x4.add (local.get $even3) (f32x4.mul (v128.load (i32.const 480)) (local.get $s))))
      (local.set $odd3 (f32x4.add (local.get $odd3) (f32x4.mul (v128.load (i32.const 496)) (local.get $d))))

      (local.set $before (v128.load (i32.sub (local.get $at) (i32.const 16))))
      (local.set $behind (v128.load offset=20 (local.get $at)))
      (local.set $s (f32x4.add (local.get $before) (local.get $behind)))
      (local.set $d (f32x4.sub (local.get $before) (local.get $behind)))
      (local.set $even1 (f32x4.add (local.get $even1) (f32x4.mul (v128.load (i32.const 528)) (local.get $s))))
      (local.set $odd1 (f32x4.add (local.get $odd1) (f32x4.mul (v128.load (i32.const 544)) (local.get $d))))
      (local.set $even2 (f32x4.add (local.get $even2) (f32x4.mul (v128.load (i32.const 560)) (local.get $s))))
      (local.set $odd2 (f32x4.add (local.get $odd2) (f32x4.mul (v128.load (i32.const 576)) (local.get $d))))
      (local.set $even3 (f32x4.add (local.get $even3) (f32x4.mul (v128.load (i32.const 592)) (local.get $s))))
      (local.set $odd3 (f32x4.add (local.get $odd3) (f32x4.mul (v128.load (i32.const 608)) (local.get $d))))

      (local.set $before (v128.load (i32.sub (local.get $at) (i32.const 20))))
      (local.set $behind (v128.load offset=24 (local.get $at)))
      (local.set $s (f32x4.add (local.get $before) (local.get $behind)))
      (local.set $d (f32x4.sub (local.get $before) (local.get $behind)))
      (local.set $even1 (f32x4.add (local.get $even1) (f32x4.mul (v128.load (i32.const 640)) (local.get $s))))
      (local.set $odd1 (f32x4.add (local.get $odd1) (f32x4.mul (v128.load (i32.const 656)) (local.get $d))))
      (local.set $even2 (f32x4.add (local.get $even2) (f32x4.mul (v128.load (i32.const 672)) (local.get $s))))
      (local.set $odd2 (f32x4.add (local.get $odd2) (f32x4.mul (v128.load (i32.const 688)) (local.get $d))))
      (local.set $even3 (f32x4.add (local.get $even3) (f32x4.mul (v128.load (i32.const 704)) (local.get $s))))
      (local.set $odd3 (f32x4.add (local.get $odd3) (f32x4.mul (v128.load (i32.const 720)) (local.get $d))))

      (local.set $highest (f32x4.pmax
        (f32x4.pmax (local.get $highest) (f32x4.add (f32x4.abs (local.get $even1)) (f32x4.abs (local.get $odd1))))
        (f32x4.pmax
          (f32x4.add (f32x4.abs (local.get $even2)) (f32x4.abs (local.get $odd2)))
          (f32x4.add (f32x4.abs (local.get $even3)) (f32x4.abs (local.get $odd3))))))
      (br_if $nextFour (i32.lt_u (local.tee $at (i32.add (local.get $at) (i32.const 16))) (local.get $end))))
    (local.get $highest))

  (func $highestLane (param $four v128) (result f32)
    (f32.max
      (f32.max (f32x4.extract_lane 0 (local.get $four)) (f32x4.extract_lane 1 (local.get $four)))
      (f32.max (f32x4.extract_lane 2 (local.get $four)) (f32x4.extract_lane 3 (local.get $four)))))

  (func (export "peaks") (param $start i32) (param $count i32) (param $quiet f32) (param $close f32)
    (local $left i32) (local $right i32) (local $to i32) (local $end i32) (local $highest f32)
    (local.set $left (i32.add (i32.const 2048) (i32.shl (local.get $start) (i32.const 2))))
    (local.set $right (i32.add (i32.const 7168) (i32.shl (local.get $start) (i32.const 2))))
    (local.set $to (i32.const 1024))
    (local.set $end (i32.add (i32.const 1024) (i32.shl (local.get $count) (i32.const 2))))
    (loop $nextChunk
      (local.set $highest (call $highestLane (f32x4.pmax
        (call $around (local.get $left)) (call $around (local.get $right)))))
      (if (f32.gt (local.get $highest) (local.get $quiet)) (then
        (local.set $highest (call $highestLane (f32x4.pmax
          (call $halfWay (local.get $left)) (call $halfWay (local.get $right)))))
        (if (f32.gt (local.get $highest) (local.get $close)) (then
          (local.set $highest (f32.max (local.get $highest) (call $highestLane (f32x4.pmax
            (call $otherPlaces (local.get $left)) (call $otherPlaces (local.get $right))))))))))
      (f32.store (local.get $to) (local.get $highest))
      (local.set $left (i32.add (local.get $left) (i32.const 64)))
      (local.set $right (i32.add (local.get $right) (i32.const 64)))
      (br_if $nextChunk (i32.lt_u (local.tee $to (i32.add (local.get $to) (i32.const 4))) (local.get $end)))))

  ;; Samples that are no numbers become 0, those beyond 16 become 16.
  (func (export "sanitize") (param $start i32) (param $count i32)
    (local $at i32) (local $end i32) (local $x v128)
    (local.set $at (i32.shl (local.get $start) (i32.const 2)))
    (local.set $end (i32.add (local.get $at) (i32.shl (local.get $count) (i32.const 2))))
    (loop $nextFour
      (local.set $x (v128.load offset=2048 (local.get $at)))
      (v128.store offset=2048 (local.get $at) (v128.and (f32x4.eq (local.get $x) (local.get $x))
        (f32x4.pmax (v128.const f32x4 -16 -16 -16 -16) (f32x4.pmin (v128.const f32x4 16 16 16 16) (local.get $x)))))
      (local.set $x (v128.load offset=7168 (local.get $at)))
      (v128.store offset=7168 (local.get $at) (v128.and (f32x4.eq (local.get $x) (local.get $x))
        (f32x4.pmax (v128.const f32x4 -16 -16 -16 -16) (f32x4.pmin (v128.const f32x4 16 16 16 16) (local.get $x)))))
      (br_if $nextFour (i32.lt_u (local.tee $at (i32.add (local.get $at) (i32.const 16))) (local.get $end)))))

  ;; From $start on, $count samples times the factors of their chunks, to the output. The first chunk begins $within samples
  ;; before. Writes up to three samples too many, which the next chunk overwrites.
  (func (export "scale") (param $start i32) (param $count i32) (param $within i32)
    (local $at i32) (local $to i32) (local $piece i32) (local $done i32) (local $gain i32)
    (local $gains v128) (local $steps v128)
    (local.set $at (i32.shl (local.get $start) (i32.const 2)))
    (local.set $gain (i32.const 20480))
    (loop $nextChunk
      (local.set $piece (i32.sub (i32.const 16) (local.get $within)))
      (if (i32.gt_u (local.get $piece) (local.get $count)) (then (local.set $piece (local.get $count))))
      (local.set $steps (v128.load32_splat offset=4 (local.get $gain)))
      (local.set $gains (f32x4.add
        (v128.load32_splat (local.get $gain))
        (f32x4.mul (local.get $steps) (f32x4.add
          (f32x4.splat (f32.convert_i32_u (local.get $within)))
          (v128.const f32x4 0 1 2 3)))))
      (local.set $steps (f32x4.mul (local.get $steps) (v128.const f32x4 4 4 4 4)))
      (local.set $done (i32.const 0))
      (loop $nextFour
        (v128.store offset=12288 (i32.add (local.get $to) (local.get $done)) (f32x4.mul (local.get $gains)
          (v128.load offset=2048 (i32.add (local.get $at) (local.get $done)))))
        (v128.store offset=16384 (i32.add (local.get $to) (local.get $done)) (f32x4.mul (local.get $gains)
          (v128.load offset=7168 (i32.add (local.get $at) (local.get $done)))))
        (local.set $gains (f32x4.add (local.get $gains) (local.get $steps)))
        (br_if $nextFour (i32.lt_u
          (local.tee $done (i32.add (local.get $done) (i32.const 16)))
          (i32.shl (local.get $piece) (i32.const 2)))))
      (local.set $at (i32.add (local.get $at) (i32.shl (local.get $piece) (i32.const 2))))
      (local.set $to (i32.add (local.get $to) (i32.shl (local.get $piece) (i32.const 2))))
      (local.set $gain (i32.add (local.get $gain) (i32.const 8)))
      (local.set $within (i32.const 0))
      (br_if $nextChunk (local.tee $count (i32.sub (local.get $count) (local.get $piece)))))))
