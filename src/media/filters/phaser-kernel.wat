;; The inner loop of the phaser: four all-pass stages (y = a x + z, then z = x - a y) and what is fed back, in 64 bits,
;; left and right in the two lanes. What is fed back is two samples old, so that a sample need not wait for all stages
;; of the one before.
;; Kept built in phaser-kernel-binary.ts. After a change here run (Debian package wabt)
;;   wat2wasm src/media/filters/phaser-kernel.wat --output=- | base64 --wrap=0
;; and put the text there. A test compares it with the plain loop of phaser-kernel.ts.
;;
;; Memory, in bytes:  0 left, f32, 960;  3840 right;  7680 state, six pairs of f64, left and right of each: the four
;; stages, what the last one gave last, and before that.
(module
  (import "host" "memory" (memory 1))

  ;; `n` to `end` are byte positions in left and right. The stages' tuning (left, right) and the feedback move on by
  ;; their steps with each sample.
  (func (export "phase") (param $n i32) (param $end i32) (param $left f64) (param $right f64)
    (param $leftStep f64) (param $rightStep f64) (param $feedback f64) (param $feedbackStep f64) (param $mix f64)
    (local $a v128) (local $aStep v128) (local $again v128) (local $againStep v128) (local $share v128)
    (local $x v128) (local $in v128) (local $y v128) (local $last v128) (local $before v128)
    (local $z1 v128) (local $z2 v128) (local $z3 v128) (local $z4 v128)
    (local.set $a (f64x2.replace_lane 1 (f64x2.splat (local.get $left)) (local.get $right)))
    (local.set $aStep (f64x2.replace_lane 1 (f64x2.splat (local.get $leftStep)) (local.get $rightStep)))
    (local.set $again (f64x2.splat (local.get $feedback)))
    (local.set $againStep (f64x2.splat (local.get $feedbackStep)))
    (local.set $share (f64x2.splat (local.get $mix)))
    (local.set $z1 (v128.load offset=7680 (i32.const 0)))
    (local.set $z2 (v128.load offset=7696 (i32.const 0)))
    (local.set $z3 (v128.load offset=7712 (i32.const 0)))
    (local.set $z4 (v128.load offset=7728 (i32.const 0)))
    (local.set $last (v128.load offset=7744 (i32.const 0)))
    (local.set $before (v128.load offset=7760 (i32.const 0)))
    (block $done (loop $next
      (br_if $done (i32.ge_u (local.get $n) (local.get $end)))
      (local.set $x (f64x2.promote_low_f32x4
        (v128.load32_lane offset=3840 1 (local.get $n) (v128.load32_zero (local.get $n)))))
      (local.set $in (f64x2.add (local.get $x) (f64x2.mul (local.get $again) (local.get $before))))
      (local.set $before (local.get $last))
      (local.set $y (f64x2.add (f64x2.mul (local.get $a) (local.get $in)) (local.get $z1)))
      (local.set $z1 (f64x2.sub (local.get $in) (f64x2.mul (local.get $a) (local.get $y))))
      (local.set $in (f64x2.add (f64x2.mul (local.get $a) (local.get $y)) (local.get $z2)))
      (local.set $z2 (f64x2.sub (local.get $y) (f64x2.mul (local.get $a) (local.get $in))))
      (local.set $y (f64x2.add (f64x2.mul (local.get $a) (local.get $in)) (local.get $z3)))
      (local.set $z3 (f64x2.sub (local.get $in) (f64x2.mul (local.get $a) (local.get $y))))
      (local.set $last (f64x2.add (f64x2.mul (local.get $a) (local.get $y)) (local.get $z4)))
      (local.set $z4 (f64x2.sub (local.get $y) (f64x2.mul (local.get $a) (local.get $last))))
      (local.set $x (f32x4.demote_f64x2_zero (f64x2.add (local.get $x)
        (f64x2.mul (local.get $share) (f64x2.sub (local.get $last) (local.get $x))))))
      (v128.store32_lane 0 (local.get $n) (local.get $x))
      (v128.store32_lane offset=3840 1 (local.get $n) (local.get $x))
      (local.set $a (f64x2.add (local.get $a) (local.get $aStep)))
      (local.set $again (f64x2.add (local.get $again) (local.get $againStep)))
      (local.set $n (i32.add (local.get $n) (i32.const 4)))
      (br $next)))
    (v128.store offset=7680 (i32.const 0) (local.get $z1))
    (v128.store offset=7696 (i32.const 0) (local.get $z2))
    (v128.store offset=7712 (i32.const 0) (local.get $z3))
    (v128.store offset=7728 (i32.const 0) (local.get $z4))
    (v128.store offset=7744 (i32.const 0) (local.get $last))
    (v128.store offset=7760 (i32.const 0) (local.get $before))))
