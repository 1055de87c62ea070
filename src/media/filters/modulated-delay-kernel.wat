;; The inner loop of chorus and flanger: reads a delay line per side at a swinging place, by third-order Hermite
;; interpolation between the four samples around it, and feeds it. The right side is a quarter of a turn ahead: sine and
;; cosine of one pointer are the two lanes. The four weights of a side are one vector, a polynomial of the place's fraction.
;; Kept built in modulated-delay-kernel-binary.ts. After a change here run (Debian package wabt)
;;   wat2wasm src/media/filters/modulated-delay-kernel.wat --output=- | base64 --wrap=0
;; and put the text there. A test compares it with the plain loop of modulated-delay-kernel.ts.
;;
;; Memory, in bytes, all f32:  0 left line of 4096, its first four once more behind it;  16400 right line, likewise;
;; 32800 left, 960;  36640 right.
(module
  (import "host" "memory" (memory 1))

  ;; `n` to `end` are byte positions in left and right, `at` the lines' next sample; delays are in samples.
  (func (export "swing") (param $n i32) (param $end i32) (param $at i32)
    (param $sine f64) (param $cosine f64) (param $stepSine f64) (param $stepCosine f64)
    (param $centre f64) (param $swing f64) (param $feedback f32) (param $mix f32) (param $bias f32)
    (local $place i32) (local $pointer v128) (local $turn v128) (local $across v128)
    (local $where v128) (local $whole v128) (local $t v128) (local $u v128)
    (local $l v128) (local $r v128) (local $x v128) (local $delayed v128) (local $kept v128)
    (local.set $pointer (f64x2.replace_lane 1 (f64x2.splat (local.get $sine)) (local.get $cosine)))
    (local.set $turn (f64x2.splat (local.get $stepCosine)))
    (local.set $across (f64x2.replace_lane 1 (f64x2.splat (local.get $stepSine)) (f64.neg (local.get $stepSine))))
    (block $done (loop $next
      (br_if $done (i32.ge_u (local.get $n) (local.get $end)))
      ;; Of the sample before the place: one ring further on, so never negative.
      (local.set $where (f64x2.sub
        (f64x2.splat (f64.sub (f64.convert_i32_s (i32.add (local.get $at) (i32.const 4095))) (local.get $centre)))
        (f64x2.mul (f64x2.splat (local.get $swing)) (local.get $pointer))))
      (local.set $whole (i32x4.trunc_sat_f64x2_s_zero (local.get $where)))
      (local.set $t (f32x4.demote_f64x2_zero
        (f64x2.sub (local.get $where) (f64x2.convert_low_i32x4_s (local.get $whole)))))
      (local.set $whole (i32x4.shl (v128.and (local.get $whole) (v128.const i32x4 4095 4095 4095 4095)) (i32.const 2)))
      (local.set $u (i8x16.shuffle 4 5 6 7 4 5 6 7 4 5 6 7 4 5 6 7 (local.get $t) (local.get $t)))
      (local.set $t (i8x16.shuffle 0 1 2 3 0 1 2 3 0 1 2 3 0 1 2 3 (local.get $t) (local.get $t)))
      (local.set $l (f32x4.mul (v128.load align=4 (i32x4.extract_lane 0 (local.get $whole)))
        (f32x4.add (v128.const f32x4 0 1 0 0) (f32x4.mul (local.get $t)
          (f32x4.add (v128.const f32x4 -0.5 0 0.5 0) (f32x4.mul (local.get $t)
            (f32x4.add (v128.const f32x4 1 -2.5 2 -0.5) (f32x4.mul (local.get $t)
              (v128.const f32x4 -0.5 1.5 -1.5 0.5)))))))))
      (local.set $r (f32x4.mul (v128.load offset=16400 align=4 (i32x4.extract_lane 1 (local.get $whole)))
        (f32x4.add (v128.const f32x4 0 1 0 0) (f32x4.mul (local.get $u)
          (f32x4.add (v128.const f32x4 -0.5 0 0.5 0) (f32x4.mul (local.get $u)
            (f32x4.add (v128.const f32x4 1 -2.5 2 -0.5) (f32x4.mul (local.get $u)
              (v128.const f32x4 -0.5 1.5 -1.5 0.5)))))))))
      ;; Sums of the lanes: first halves, then what is left of each side.
      (local.set $delayed (f32x4.add
        (i8x16.shuffle 0 1 2 3 4 5 6 7 16 17 18 19 20 21 22 23 (local.get $l) (local.get $r))
        (i8x16.shuffle 8 9 10 11 12 13 14 15 24 25 26 27 28 29 30 31 (local.get $l) (local.get $r))))
      (local.set $delayed (f32x4.add
        (i8x16.shuffle 0 1 2 3 8 9 10 11 0 1 2 3 8 9 10 11 (local.get $delayed) (local.get $delayed))
        (i8x16.shuffle 4 5 6 7 12 13 14 15 4 5 6 7 12 13 14 15 (local.get $delayed) (local.get $delayed))))
      (local.set $x (v128.load32_lane offset=36640 1 (local.get $n) (v128.load32_zero offset=32800 (local.get $n))))
      (local.set $kept (f32x4.add (f32x4.add (local.get $x) (f32x4.splat (local.get $bias)))
        (f32x4.mul (local.get $delayed) (f32x4.splat (local.get $feedback)))))
      (local.set $place (i32.shl (local.get $at) (i32.const 2)))
      (v128.store32_lane 0 (local.get $place) (local.get $kept))
      (v128.store32_lane offset=16400 1 (local.get $place) (local.get $kept))
      (if (i32.lt_u (local.get $at) (i32.const 4)) (then
        (v128.store32_lane offset=16384 0 (local.get $place) (local.get $kept))
        (v128.store32_lane offset=32784 1 (local.get $place) (local.get $kept))))
      (local.set $x (f32x4.add (local.get $x)
        (f32x4.mul (f32x4.splat (local.get $mix)) (f32x4.sub (local.get $delayed) (local.get $x)))))
      (v128.store32_lane offset=32800 0 (local.get $n) (local.get $x))
      (v128.store32_lane offset=36640 1 (local.get $n) (local.get $x))
      (local.set $pointer (f64x2.add (f64x2.mul (local.get $pointer) (local.get $turn)) (f64x2.mul
        (i8x16.shuffle 8 9 10 11 12 13 14 15 0 1 2 3 4 5 6 7 (local.get $pointer) (local.get $pointer))
        (local.get $across))))
      (local.set $at (i32.and (i32.add (local.get $at) (i32.const 1)) (i32.const 4095)))
      (local.set $n (i32.add (local.get $n) (i32.const 4)))
      (br $next)))))
