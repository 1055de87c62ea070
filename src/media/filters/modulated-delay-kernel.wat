;; The inner loop of chorus and flanger: reads a delay line per side at a swinging place, by third-order Hermite
;; interpolation between the four samples around it, and feeds it. The right side is a quarter of a turn ahead: sine and
;; cosine of one pointer. Two samples at a time: left and right of the first and left and right of the second are the
;; lanes.
;; Kept built in modulated-delay-kernel-binary.ts. After a change here run (Debian package wabt)
;;   wat2wasm src/media/filters/modulated-delay-kernel.wat --output=- | base64 --wrap=0
;; and put the text there. A test compares it with the plain loop of modulated-delay-kernel.ts.
;;
;; Memory, in bytes:  0 left line, f32, 4096, its first four once more behind it;  16400 right line, likewise;  32800
;; left, f32, 960;  36640 right;  40480 the pointer for what comes next, two f64.
(module
  (import "host" "memory" (memory 1))

  ;; `n` to `end` are byte positions in left and right, of an even number of samples; `at` the lines' next sample, even.
  ;; Delays are in samples, four at least: the second of two samples must not need the first.
  (func (export "swing") (param $n i32) (param $end i32) (param $at i32)
    (param $sine f64) (param $cosine f64) (param $stepSine f64) (param $stepCosine f64)
    (param $centre f64) (param $swing f64) (param $feedback f32) (param $mix f32) (param $bias f32)
    (local $place i32) (local $p v128) (local $q v128) (local $turn v128) (local $across v128)
    (local $base v128) (local $far v128) (local $share v128) (local $again v128) (local $floor v128)
    (local $a v128) (local $b v128) (local $c v128) (local $d v128)
    (local $t v128) (local $t2 v128) (local $t3 v128) (local $w0 v128) (local $w1 v128) (local $w3 v128)
    (local $x v128) (local $y v128)
    ;; p for the first sample of two, q for the second.
    (local.set $p (f64x2.replace_lane 1 (f64x2.splat (local.get $sine)) (local.get $cosine)))
    (local.set $q (f64x2.add (f64x2.mul (local.get $p) (f64x2.splat (local.get $stepCosine))) (f64x2.mul
      (f64x2.replace_lane 1 (f64x2.splat (local.get $cosine)) (local.get $sine))
      (f64x2.replace_lane 1 (f64x2.splat (local.get $stepSine)) (f64.neg (local.get $stepSine))))))
    ;; Both turn by two samples.
    (local.set $turn (f64x2.splat (f64.sub (f64.mul (local.get $stepCosine) (local.get $stepCosine))
      (f64.mul (local.get $stepSine) (local.get $stepSine)))))
    (local.set $sine (f64.mul (f64.const 2) (f64.mul (local.get $stepSine) (local.get $stepCosine))))
    (local.set $across (f64x2.replace_lane 1 (f64x2.splat (local.get $sine)) (f64.neg (local.get $sine))))
    ;; The sample before the place, where nothing swings: one ring further on, so never negative.
    (local.set $base (f64x2.splat
      (f64.sub (f64.convert_i32_s (i32.add (local.get $at) (i32.const 4095))) (local.get $centre))))
    (local.set $far (f64x2.splat (local.get $swing)))
    (local.set $share (f32x4.splat (local.get $mix)))
    (local.set $again (f32x4.splat (local.get $feedback)))
    (block $done (loop $next
      (br_if $done (i32.ge_u (local.get $n) (local.get $end)))
      ;; With 2^52 added, whole numbers stand in the low bits.
      (local.set $x (f64x2.sub (local.get $base) (f64x2.mul (local.get $far) (local.get $p))))
      (local.set $floor (f64x2.floor (local.get $x)))
      (local.set $x (f64x2.sub (local.get $x) (local.get $floor)))
      (local.set $floor (f64x2.add (local.get $floor) (v128.const f64x2 4503599627370496 4503599627370496)))
      (local.set $a (v128.load align=4
        (i32.shl (i32.and (i32x4.extract_lane 0 (local.get $floor)) (i32.const 4095)) (i32.const 2))))
      (local.set $b (v128.load offset=16400 align=4
        (i32.shl (i32.and (i32x4.extract_lane 2 (local.get $floor)) (i32.const 4095)) (i32.const 2))))
      (local.set $y (f64x2.sub (f64x2.add (local.get $base) (v128.const f64x2 1 1))
        (f64x2.mul (local.get $far) (local.get $q))))
      (local.set $floor (f64x2.floor (local.get $y)))
      (local.set $y (f64x2.sub (local.get $y) (local.get $floor)))
      (local.set $floor (f64x2.add (local.get $floor) (v128.const f64x2 4503599627370496 4503599627370496)))
      (local.set $c (v128.load align=4
        (i32.shl (i32.and (i32x4.extract_lane 0 (local.get $floor)) (i32.const 4095)) (i32.const 2))))
      (local.set $d (v128.load offset=16400 align=4
        (i32.shl (i32.and (i32x4.extract_lane 2 (local.get $floor)) (i32.const 4095)) (i32.const 2))))
      (local.set $base (f64x2.add (local.get $base) (v128.const f64x2 2 2)))
      ;; Weights, for four values at a time; they add up to 1.
      (local.set $t (i8x16.shuffle 0 1 2 3 4 5 6 7 16 17 18 19 20 21 22 23
        (f32x4.demote_f64x2_zero (local.get $x)) (f32x4.demote_f64x2_zero (local.get $y))))
      (local.set $t2 (f32x4.mul (local.get $t) (local.get $t)))
      (local.set $t3 (f32x4.mul (local.get $t2) (local.get $t)))
      (local.set $w0 (f32x4.sub (local.get $t2)
        (f32x4.mul (v128.const f32x4 0.5 0.5 0.5 0.5) (f32x4.add (local.get $t) (local.get $t3)))))
      (local.set $w1 (f32x4.add (f32x4.sub (v128.const f32x4 1 1 1 1)
        (f32x4.mul (v128.const f32x4 2.5 2.5 2.5 2.5) (local.get $t2)))
        (f32x4.mul (v128.const f32x4 1.5 1.5 1.5 1.5) (local.get $t3))))
      (local.set $w3 (f32x4.mul (v128.const f32x4 0.5 0.5 0.5 0.5) (f32x4.sub (local.get $t3) (local.get $t2))))
      (local.set $t (f32x4.sub (v128.const f32x4 1 1 1 1)
        (f32x4.add (f32x4.add (local.get $w0) (local.get $w1)) (local.get $w3))))
      ;; The four samples around each place: transposed, the first of all four places are one vector, and so on.
      (local.set $x (i8x16.shuffle 0 1 2 3 16 17 18 19 4 5 6 7 20 21 22 23 (local.get $a) (local.get $b)))
      (local.set $y (i8x16.shuffle 0 1 2 3 16 17 18 19 4 5 6 7 20 21 22 23 (local.get $c) (local.get $d)))
      (local.set $t2 (i8x16.shuffle 8 9 10 11 24 25 26 27 12 13 14 15 28 29 30 31 (local.get $a) (local.get $b)))
      (local.set $t3 (i8x16.shuffle 8 9 10 11 24 25 26 27 12 13 14 15 28 29 30 31 (local.get $c) (local.get $d)))
      (local.set $y (f32x4.add
        (f32x4.add
          (f32x4.mul (local.get $w0)
            (i8x16.shuffle 0 1 2 3 4 5 6 7 16 17 18 19 20 21 22 23 (local.get $x) (local.get $y)))
          (f32x4.mul (local.get $w1)
            (i8x16.shuffle 8 9 10 11 12 13 14 15 24 25 26 27 28 29 30 31 (local.get $x) (local.get $y))))
        (f32x4.add
          (f32x4.mul (local.get $t)
            (i8x16.shuffle 0 1 2 3 4 5 6 7 16 17 18 19 20 21 22 23 (local.get $t2) (local.get $t3)))
          (f32x4.mul (local.get $w3)
            (i8x16.shuffle 8 9 10 11 12 13 14 15 24 25 26 27 28 29 30 31 (local.get $t2) (local.get $t3))))))
      ;; What comes in, and what goes into the lines: left beside left.
      (local.set $x (i8x16.shuffle 0 1 2 3 16 17 18 19 4 5 6 7 20 21 22 23
        (v128.load64_zero offset=32800 (local.get $n)) (v128.load64_zero offset=36640 (local.get $n))))
      (local.set $a (f32x4.add (f32x4.add (local.get $x) (f32x4.splat (local.get $bias)))
        (f32x4.mul (local.get $y) (local.get $again))))
      (local.set $a (i8x16.shuffle 0 1 2 3 8 9 10 11 4 5 6 7 12 13 14 15 (local.get $a) (local.get $a)))
      (local.set $place (i32.shl (local.get $at) (i32.const 2)))
      (v128.store64_lane 0 (local.get $place) (local.get $a))
      (v128.store64_lane offset=16400 1 (local.get $place) (local.get $a))
      (if (i32.lt_u (local.get $at) (i32.const 4)) (then
        (v128.store64_lane offset=16384 0 (local.get $place) (local.get $a))
        (v128.store64_lane offset=32784 1 (local.get $place) (local.get $a))))
      (local.set $x (f32x4.add (local.get $x)
        (f32x4.mul (local.get $share) (f32x4.sub (local.get $y) (local.get $x)))))
      (local.set $x (i8x16.shuffle 0 1 2 3 8 9 10 11 4 5 6 7 12 13 14 15 (local.get $x) (local.get $x)))
      (v128.store64_lane offset=32800 0 (local.get $n) (local.get $x))
      (v128.store64_lane offset=36640 1 (local.get $n) (local.get $x))
      (local.set $p (f64x2.add (f64x2.mul (local.get $p) (local.get $turn)) (f64x2.mul (local.get $across)
        (i8x16.shuffle 8 9 10 11 12 13 14 15 0 1 2 3 4 5 6 7 (local.get $p) (local.get $p)))))
      (local.set $q (f64x2.add (f64x2.mul (local.get $q) (local.get $turn)) (f64x2.mul (local.get $across)
        (i8x16.shuffle 8 9 10 11 12 13 14 15 0 1 2 3 4 5 6 7 (local.get $q) (local.get $q)))))
      (local.set $at (i32.and (i32.add (local.get $at) (i32.const 2)) (i32.const 4095)))
      (local.set $n (i32.add (local.get $n) (i32.const 8)))
      (br $next)))
    (v128.store offset=40480 (i32.const 0) (local.get $p))))
