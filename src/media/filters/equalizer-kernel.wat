;; The inner loops of the equalizer: band-passes in parallel, in 64-bit floats, left and right in the two lanes of a vector.
;; Kept built in equalizer-kernel-binary.ts. After a change here run (Debian package wabt)
;;   wat2wasm src/media/filters/equalizer-kernel.wat --output=- | base64 --wrap=0
;; and put the text there. A test compares it with the plain loop of equalizer-kernel.ts.
;;
;; Memory, in bytes, as equalizer-kernel.ts lays it out:
;;      0  up to 5 groups of 3 bands; a band is 5 vectors: g, b, k and the state w1, w2 (240 bytes a group)
;;   1200  the input's last two samples: x1, x2
;;   2048  left, 960 f32, in and out;  6144 right
;;  10240  960 vectors: input minus input two samples before;  25600  960 vectors: the sum
;; A band:  w = d + g * w1 - b * w2;  sum += k * w.  Three bands share a loop: while one waits for its multiplication, the
;; others work.
(module
  (import "host" "memory" (memory 1))

  (func (export "equalize") (param $count i32) (param $groups i32)
    (local $at i32) (local $end i32) (local $group i32) (local $d i32)
    (local $x v128) (local $x1 v128) (local $x2 v128) (local $sum v128)
    (local $g0 v128) (local $b0 v128) (local $k0 v128) (local $p0 v128) (local $q0 v128) (local $w0 v128)
    (local $g1 v128) (local $b1 v128) (local $k1 v128) (local $p1 v128) (local $q1 v128) (local $w1 v128)
    (local $g2 v128) (local $b2 v128) (local $k2 v128) (local $p2 v128) (local $q2 v128) (local $w2 v128)
    (if (i32.eqz (local.get $count)) (then (return)))

    ;; Spread the input: sum = x, d = x - x2.
    (local.set $x1 (v128.load (i32.const 1200)))
    (local.set $x2 (v128.load (i32.const 1216)))
    (local.set $end (i32.shl (local.get $count) (i32.const 2)))
    (loop $spread
      (local.set $x (f64x2.promote_low_f32x4 (i8x16.shuffle 0 1 2 3 16 17 18 19 4 5 6 7 20 21 22 23
        (v128.load32_zero offset=2048 (local.get $at)) (v128.load32_zero offset=6144 (local.get $at)))))
      (local.set $d (i32.shl (local.get $at) (i32.const 2)))
      (v128.store offset=25600 (local.get $d) (local.get $x))
      (v128.store offset=10240 (local.get $d) (f64x2.sub (local.get $x) (local.get $x2)))
      (local.set $x2 (local.get $x1))
      (local.set $x1 (local.get $x))
      (br_if $spread (i32.lt_u (local.tee $at (i32.add (local.get $at) (i32.const 4))) (local.get $end))))
    (v128.store (i32.const 1200) (local.get $x1))
    (v128.store (i32.const 1216) (local.get $x2))

    (local.set $end (i32.shl (local.get $count) (i32.const 4)))
    (block $noGroups (loop $nextGroup
      (br_if $noGroups (i32.eqz (local.get $groups)))
      (local.set $g0 (v128.load offset=0 (local.get $group)))
      (local.set $b0 (v128.load offset=16 (local.get $group)))
      (local.set $k0 (v128.load offset=32 (local.get $group)))
      (local.set $p0 (v128.load offset=48 (local.get $group)))
      (local.set $q0 (v128.load offset=64 (local.get $group)))
      (local.set $g1 (v128.load offset=80 (local.get $group)))
      (local.set $b1 (v128.load offset=96 (local.get $group)))
      (local.set $k1 (v128.load offset=112 (local.get $group)))
      (local.set $p1 (v128.load offset=128 (local.get $group)))
      (local.set $q1 (v128.load offset=144 (local.get $group)))
      (local.set $g2 (v128.load offset=160 (local.get $group)))
      (local.set $b2 (v128.load offset=176 (local.get $group)))
      (local.set $k2 (v128.load offset=192 (local.get $group)))
      (local.set $p2 (v128.load offset=208 (local.get $group)))
      (local.set $q2 (v128.load offset=224 (local.get $group)))
      (local.set $at (i32.const 0))
      (loop $nextSample
        (local.set $x (v128.load offset=10240 (local.get $at)))
        (local.set $sum (v128.load offset=25600 (local.get $at)))
        (local.set $w0 (f64x2.add (f64x2.sub (local.get $x) (f64x2.mul (local.get $b0) (local.get $q0)))
          (f64x2.mul (local.get $g0) (local.get $p0))))
        (local.set $q0 (local.get $p0))
        (local.set $p0 (local.get $w0))
        (local.set $w1 (f64x2.add (f64x2.sub (local.get $x) (f64x2.mul (local.get $b1) (local.get $q1)))
          (f64x2.mul (local.get $g1) (local.get $p1))))
        (local.set $q1 (local.get $p1))
        (local.set $p1 (local.get $w1))
        (local.set $w2 (f64x2.add (f64x2.sub (local.get $x) (f64x2.mul (local.get $b2) (local.get $q2)))
          (f64x2.mul (local.get $g2) (local.get $p2))))
        (local.set $q2 (local.get $p2))
        (local.set $p2 (local.get $w2))
        (v128.store offset=25600 (local.get $at) (f64x2.add (local.get $sum) (f64x2.add
          (f64x2.add (f64x2.mul (local.get $k0) (local.get $w0)) (f64x2.mul (local.get $k1) (local.get $w1)))
          (f64x2.mul (local.get $k2) (local.get $w2)))))
        (br_if $nextSample (i32.lt_u (local.tee $at (i32.add (local.get $at) (i32.const 16))) (local.get $end))))
      (v128.store offset=48 (local.get $group) (local.get $p0))
      (v128.store offset=64 (local.get $group) (local.get $q0))
      (v128.store offset=128 (local.get $group) (local.get $p1))
      (v128.store offset=144 (local.get $group) (local.get $q1))
      (v128.store offset=208 (local.get $group) (local.get $p2))
      (v128.store offset=224 (local.get $group) (local.get $q2))
      (local.set $group (i32.add (local.get $group) (i32.const 240)))
      (local.set $groups (i32.sub (local.get $groups) (i32.const 1)))
      (br $nextGroup)))

    ;; Cut to full scale and go back to 32 bits.
    (local.set $at (i32.const 0))
    (local.set $end (i32.shl (local.get $count) (i32.const 2)))
    (loop $gather
      (local.set $x (f32x4.demote_f64x2_zero (f64x2.pmax (v128.const f64x2 -1 -1) (f64x2.pmin (v128.const f64x2 1 1)
        (v128.load offset=25600 (i32.shl (local.get $at) (i32.const 2)))))))
      (f32.store offset=2048 (local.get $at) (f32x4.extract_lane 0 (local.get $x)))
      (f32.store offset=6144 (local.get $at) (f32x4.extract_lane 1 (local.get $x)))
      (br_if $gather (i32.lt_u (local.tee $at (i32.add (local.get $at) (i32.const 4))) (local.get $end))))))
