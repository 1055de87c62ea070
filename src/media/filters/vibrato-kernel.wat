;; The inner loop of the vibrato: reads a delay line at a swinging place, by third-order Hermite interpolation between the
;; four samples around it. Four output samples at a time: their places are the lanes of two 64-bit vectors, their weights
;; those of 32-bit ones, and so are the four samples around each place. The weights are the same for left and right.
;; Kept built in vibrato-kernel-binary.ts. After a change here run (Debian package wabt)
;;   wat2wasm src/media/filters/vibrato-kernel.wat --output=- | base64 --wrap=0
;; and put the text there. A test compares it with the plain loop of vibrato-kernel.ts.
;;
;; Memory, in bytes: 0 left, 1064 f32 (104 of the past, then 960);  4608 right;  9216 left out, 960 f32;  13312 right out.
(module
  (import "host" "memory" (memory 1))

  ;; The place of output n is `origin` + n - swing * sine, in samples; sine and cosine turn by a fixed angle each sample.
  ;; Outputs are written up to the next multiple of four.
  (func (export "vibrate") (param $count i32) (param $origin f64) (param $swing f64)
    (param $sine f64) (param $cosine f64) (param $stepSine f64) (param $stepCosine f64)
    (local $n i32) (local $end i32) (local $a i32) (local $b i32) (local $c i32) (local $d i32)
    (local $s v128) (local $co v128) (local $ss v128) (local $sc v128) (local $ss4 v128) (local $sc4 v128)
    (local $place v128) (local $t v128) (local $u v128) (local $floor v128)
    (local $t2 v128) (local $t3 v128) (local $w0 v128) (local $w1 v128) (local $w2 v128) (local $w3 v128)
    (local $wa v128) (local $wb v128) (local $wc v128) (local $wd v128) (local $x v128) (local $y v128)
    (local.set $end (i32.shl (local.get $count) (i32.const 2)))
    ;; Lane 1 is a sample ahead of lane 0.
    (local.set $s (f64x2.replace_lane 1 (f64x2.splat (local.get $sine)) (f64.add
      (f64.mul (local.get $sine) (local.get $stepCosine)) (f64.mul (local.get $cosine) (local.get $stepSine)))))
    (local.set $co (f64x2.replace_lane 1 (f64x2.splat (local.get $cosine)) (f64.sub
      (f64.mul (local.get $cosine) (local.get $stepCosine)) (f64.mul (local.get $sine) (local.get $stepSine)))))
    ;; Sine and cosine of two steps, then of four.
    (local.set $ss (f64x2.splat (f64.mul (f64.const 2) (f64.mul (local.get $stepSine) (local.get $stepCosine)))))
    (local.set $sc (f64x2.splat (f64.sub (f64.mul (local.get $stepCosine) (local.get $stepCosine))
      (f64.mul (local.get $stepSine) (local.get $stepSine)))))
    (local.set $ss4 (f64x2.mul (v128.const f64x2 2 2) (f64x2.mul (local.get $ss) (local.get $sc))))
    (local.set $sc4 (f64x2.sub (f64x2.mul (local.get $sc) (local.get $sc)) (f64x2.mul (local.get $ss) (local.get $ss))))
    (local.set $place (f64x2.replace_lane 1 (f64x2.splat (local.get $origin))
      (f64.add (local.get $origin) (f64.const 1))))
    (block $done (loop $next
      (br_if $done (i32.ge_u (local.get $n) (local.get $end)))
      (local.set $t (f64x2.sub (local.get $place) (f64x2.mul (f64x2.splat (local.get $swing)) (local.get $s))))
      (local.set $u (f64x2.sub (f64x2.add (local.get $place) (v128.const f64x2 2 2))
        (f64x2.mul (f64x2.splat (local.get $swing)) (f64x2.add
          (f64x2.mul (local.get $s) (local.get $sc)) (f64x2.mul (local.get $co) (local.get $ss))))))
      (local.set $place (f64x2.add (local.get $place) (v128.const f64x2 4 4)))
      (local.set $x (f64x2.add (f64x2.mul (local.get $s) (local.get $sc4)) (f64x2.mul (local.get $co) (local.get $ss4))))
      (local.set $co (f64x2.sub
        (f64x2.mul (local.get $co) (local.get $sc4)) (f64x2.mul (local.get $s) (local.get $ss4))))
      (local.set $s (local.get $x))
      ;; With 2^52 added, whole numbers stand in the low bits.
      (local.set $floor (f64x2.floor (local.get $t)))
      (local.set $t (f64x2.sub (local.get $t) (local.get $floor)))
      (local.set $floor (f64x2.add (local.get $floor) (v128.const f64x2 4503599627370496 4503599627370496)))
      (local.set $a (i32.shl (i32x4.extract_lane 0 (local.get $floor)) (i32.const 2)))
      (local.set $b (i32.shl (i32x4.extract_lane 2 (local.get $floor)) (i32.const 2)))
      (local.set $floor (f64x2.floor (local.get $u)))
      (local.set $u (f64x2.sub (local.get $u) (local.get $floor)))
      (local.set $floor (f64x2.add (local.get $floor) (v128.const f64x2 4503599627370496 4503599627370496)))
      (local.set $c (i32.shl (i32x4.extract_lane 0 (local.get $floor)) (i32.const 2)))
      (local.set $d (i32.shl (i32x4.extract_lane 2 (local.get $floor)) (i32.const 2)))
      (local.set $t (i8x16.shuffle 0 1 2 3 4 5 6 7 16 17 18 19 20 21 22 23
        (f32x4.demote_f64x2_zero (local.get $t)) (f32x4.demote_f64x2_zero (local.get $u))))
      (local.set $t2 (f32x4.mul (local.get $t) (local.get $t)))
      (local.set $t3 (f32x4.mul (local.get $t2) (local.get $t)))
      (local.set $w0 (f32x4.sub (local.get $t2)
        (f32x4.mul (v128.const f32x4 0.5 0.5 0.5 0.5) (f32x4.add (local.get $t) (local.get $t3)))))
      (local.set $w1 (f32x4.add
        (f32x4.sub (v128.const f32x4 1 1 1 1) (f32x4.mul (v128.const f32x4 2.5 2.5 2.5 2.5) (local.get $t2)))
        (f32x4.mul (v128.const f32x4 1.5 1.5 1.5 1.5) (local.get $t3))))
      (local.set $w3 (f32x4.mul (v128.const f32x4 0.5 0.5 0.5 0.5) (f32x4.sub (local.get $t3) (local.get $t2))))
      ;; The four weights add up to 1.
      (local.set $w2 (f32x4.sub (v128.const f32x4 1 1 1 1)
        (f32x4.add (f32x4.add (local.get $w0) (local.get $w1)) (local.get $w3))))
      ;; From a vector per weight to a vector per sample.
      (local.set $x (i8x16.shuffle 0 1 2 3 16 17 18 19 4 5 6 7 20 21 22 23 (local.get $w0) (local.get $w1)))
      (local.set $y (i8x16.shuffle 0 1 2 3 16 17 18 19 4 5 6 7 20 21 22 23 (local.get $w2) (local.get $w3)))
      (local.set $wa (i8x16.shuffle 0 1 2 3 4 5 6 7 16 17 18 19 20 21 22 23 (local.get $x) (local.get $y)))
      (local.set $wb (i8x16.shuffle 8 9 10 11 12 13 14 15 24 25 26 27 28 29 30 31 (local.get $x) (local.get $y)))
      (local.set $x (i8x16.shuffle 8 9 10 11 24 25 26 27 12 13 14 15 28 29 30 31 (local.get $w0) (local.get $w1)))
      (local.set $y (i8x16.shuffle 8 9 10 11 24 25 26 27 12 13 14 15 28 29 30 31 (local.get $w2) (local.get $w3)))
      (local.set $wc (i8x16.shuffle 0 1 2 3 4 5 6 7 16 17 18 19 20 21 22 23 (local.get $x) (local.get $y)))
      (local.set $wd (i8x16.shuffle 8 9 10 11 12 13 14 15 24 25 26 27 28 29 30 31 (local.get $x) (local.get $y)))
      ;; Left: weights times samples, then sums of the lanes: first a b a b (two halves of each) and c d c d, then halves.
      (local.set $w0 (f32x4.mul (local.get $wa) (v128.load align=4 (i32.sub (local.get $a) (i32.const 4)))))
      (local.set $w1 (f32x4.mul (local.get $wb) (v128.load align=4 (i32.sub (local.get $b) (i32.const 4)))))
      (local.set $w2 (f32x4.mul (local.get $wc) (v128.load align=4 (i32.sub (local.get $c) (i32.const 4)))))
      (local.set $w3 (f32x4.mul (local.get $wd) (v128.load align=4 (i32.sub (local.get $d) (i32.const 4)))))
      (local.set $x (f32x4.add
        (i8x16.shuffle 0 1 2 3 16 17 18 19 4 5 6 7 20 21 22 23 (local.get $w0) (local.get $w1))
        (i8x16.shuffle 8 9 10 11 24 25 26 27 12 13 14 15 28 29 30 31 (local.get $w0) (local.get $w1))))
      (local.set $y (f32x4.add
        (i8x16.shuffle 0 1 2 3 16 17 18 19 4 5 6 7 20 21 22 23 (local.get $w2) (local.get $w3))
        (i8x16.shuffle 8 9 10 11 24 25 26 27 12 13 14 15 28 29 30 31 (local.get $w2) (local.get $w3))))
      (v128.store offset=9216 (local.get $n) (f32x4.add
        (i8x16.shuffle 0 1 2 3 4 5 6 7 16 17 18 19 20 21 22 23 (local.get $x) (local.get $y))
        (i8x16.shuffle 8 9 10 11 12 13 14 15 24 25 26 27 28 29 30 31 (local.get $x) (local.get $y))))
      ;; The same on the right.
      (local.set $w0 (f32x4.mul (local.get $wa) (v128.load offset=4604 align=4 (local.get $a))))
      (local.set $w1 (f32x4.mul (local.get $wb) (v128.load offset=4604 align=4 (local.get $b))))
      (local.set $w2 (f32x4.mul (local.get $wc) (v128.load offset=4604 align=4 (local.get $c))))
      (local.set $w3 (f32x4.mul (local.get $wd) (v128.load offset=4604 align=4 (local.get $d))))
      (local.set $x (f32x4.add
        (i8x16.shuffle 0 1 2 3 16 17 18 19 4 5 6 7 20 21 22 23 (local.get $w0) (local.get $w1))
        (i8x16.shuffle 8 9 10 11 24 25 26 27 12 13 14 15 28 29 30 31 (local.get $w0) (local.get $w1))))
      (local.set $y (f32x4.add
        (i8x16.shuffle 0 1 2 3 16 17 18 19 4 5 6 7 20 21 22 23 (local.get $w2) (local.get $w3))
        (i8x16.shuffle 8 9 10 11 24 25 26 27 12 13 14 15 28 29 30 31 (local.get $w2) (local.get $w3))))
      (v128.store offset=13312 (local.get $n) (f32x4.add
        (i8x16.shuffle 0 1 2 3 4 5 6 7 16 17 18 19 20 21 22 23 (local.get $x) (local.get $y))
        (i8x16.shuffle 8 9 10 11 12 13 14 15 24 25 26 27 28 29 30 31 (local.get $x) (local.get $y))))
      (local.set $n (i32.add (local.get $n) (i32.const 16)))
      (br $next)))))
