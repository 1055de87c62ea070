;; The inner loop of the resampler: dot products of stereo sound with rows of filter taps, four samples at a time. And the
;; making of such rows, which takes ten times as long in JavaScript that has not been compiled yet.
;; Kept built in resampler-kernel-binary.ts. After a change here run (Debian package wabt)
;;   wat2wasm src/media/decode/resampler-kernel.wat --output=- | base64 --wrap=0
;; and put the text there. A test compares it with the plain loop of resampler-kernel.ts.
;;
;; All positions are byte addresses in the memory the host passes in. A row of taps is a multiple of 32 bytes.
;; The tap loop stands written out in both functions: as a function of its own it made the whole 40 % slower.
(module
  (import "host" "memory" (memory 1))

  ;; Writes a row of a windowed sinc to `first`, and backwards to `mirrored` (its last tap). Tap 0 is `time` samples from the
  ;; middle; `turn` is the angle per sample, of which sine and cosine at tap 0 and of one step are given. The window is a
  ;; power series of `terms` f64 at `series` in the height of a parabola (1 in the middle, 0 at either edge).
  (func (export "fillRow") (param $first i32) (param $mirrored i32) (param $tapCount i32) (param $time f64)
    (param $series i32) (param $terms i32) (param $turn f64)
    (param $sine f64) (param $cosine f64) (param $stepSine f64) (param $stepCosine f64)
    (local $tap i32) (local $end i32) (local $term i32) (local $angle f64) (local $edge f64) (local $value f64) (local $sum f64)
    (local.set $tap (local.get $first))
    (local.set $end (i32.add (local.get $first) (i32.shl (local.get $tapCount) (i32.const 2))))
    (loop $nextTap
      (local.set $edge
        (f64.div (f64.mul (f64.const 2) (local.get $time)) (f64.convert_i32_s (local.get $tapCount))))
      (local.set $edge (f64.sub (f64.const 1) (f64.mul (local.get $edge) (local.get $edge))))
      (local.set $value (f64.const 0))
      (if (f64.ge (local.get $edge) (f64.const 0)) (then
        (local.set $term (i32.add (local.get $series) (i32.shl (local.get $terms) (i32.const 3))))
        (loop $nextTerm
          (local.set $term (i32.sub (local.get $term) (i32.const 8)))
          (local.set $value
            (f64.add (f64.mul (local.get $value) (local.get $edge)) (f64.load (local.get $term))))
          (br_if $nextTerm (i32.gt_u (local.get $term) (local.get $series))))))
      (local.set $angle (f64.mul (local.get $turn) (local.get $time)))
      (if (f64.ne (local.get $angle) (f64.const 0)) (then
        (local.set $value (f64.mul (local.get $value) (f64.div (local.get $sine) (local.get $angle))))))
      (local.set $sum (f64.add (local.get $sum) (local.get $value)))
      (f32.store (local.get $tap) (f32.demote_f64 (local.get $value)))
      (local.set $time (f64.add (local.get $time) (f64.const 1)))
      (local.set $value (f64.add
        (f64.mul (local.get $sine) (local.get $stepCosine)) (f64.mul (local.get $cosine) (local.get $stepSine))))
      (local.set $cosine (f64.sub
        (f64.mul (local.get $cosine) (local.get $stepCosine)) (f64.mul (local.get $sine) (local.get $stepSine))))
      (local.set $sine (local.get $value))
      (br_if $nextTap (i32.lt_u (local.tee $tap (i32.add (local.get $tap) (i32.const 4))) (local.get $end))))
    ;; Each row passes a constant unchanged.
    (local.set $tap (local.get $first))
    (loop $nextTap
      (f32.store (local.get $tap)
        (f32.demote_f64 (f64.div (f64.promote_f32 (f32.load (local.get $tap))) (local.get $sum))))
      (br_if $nextTap (i32.lt_u (local.tee $tap (i32.add (local.get $tap) (i32.const 4))) (local.get $end))))
    (loop $nextTap
      (f32.store (local.get $mirrored) (f32.load (local.get $first)))
      (local.set $mirrored (i32.sub (local.get $mirrored) (i32.const 4)))
      (br_if $nextTap (i32.lt_u (local.tee $first (i32.add (local.get $first) (i32.const 4))) (local.get $end)))))

  ;; Writes `count` output samples. Position in the input is `left` plus phase / phaseCount samples; each output moves it
  ;; by stepBytes / 4 + stepPhase / phaseCount. Row number = phase.
  (func (export "resample")
    (param $table i32) (param $rowBytes i32) (param $left i32) (param $right i32)
    (param $outLeft i32) (param $outRight i32) (param $count i32)
    (param $phase i32) (param $phaseCount i32) (param $stepBytes i32) (param $stepPhase i32) (param $rowsPerPhase f64)
    (local $tap i32) (local $end i32) (local $l i32) (local $r i32) (local $k v128)
    (local $l0 v128) (local $l1 v128) (local $r0 v128) (local $r1 v128)
    (block $done (loop $next
      (br_if $done (i32.eqz (local.get $count)))
      (local.set $tap (i32.add (local.get $table) (i32.mul (local.get $phase) (local.get $rowBytes))))
      (local.set $end (i32.add (local.get $tap) (local.get $rowBytes)))
      (local.set $l (local.get $left))
      (local.set $r (local.get $right))
      (local.set $l0 (v128.const f32x4 0 0 0 0))
      (local.set $l1 (v128.const f32x4 0 0 0 0))
      (local.set $r0 (v128.const f32x4 0 0 0 0))
      (local.set $r1 (v128.const f32x4 0 0 0 0))
      (loop $nextTaps
        (local.set $k (v128.load (local.get $tap)))
        (local.set $l0 (f32x4.add (local.get $l0) (f32x4.mul (local.get $k) (v128.load (local.get $l)))))
        (local.set $r0 (f32x4.add (local.get $r0) (f32x4.mul (local.get $k) (v128.load (local.get $r)))))
        (local.set $k (v128.load offset=16 (local.get $tap)))
        (local.set $l1 (f32x4.add (local.get $l1) (f32x4.mul (local.get $k) (v128.load offset=16 (local.get $l)))))
        (local.set $r1 (f32x4.add (local.get $r1) (f32x4.mul (local.get $k) (v128.load offset=16 (local.get $r)))))
        (local.set $l (i32.add (local.get $l) (i32.const 32)))
        (local.set $r (i32.add (local.get $r) (i32.const 32)))
        (br_if $nextTaps (i32.lt_u (local.tee $tap (i32.add (local.get $tap) (i32.const 32))) (local.get $end))))
      (local.set $l0 (f32x4.add (local.get $l0) (local.get $l1)))
      (local.set $r0 (f32x4.add (local.get $r0) (local.get $r1)))
      ;; Sums of the lanes: left in lanes 0 and 1, right in 2 and 3, then each pair.
      (local.set $k (f32x4.add
        (i8x16.shuffle 0 1 2 3 4 5 6 7 16 17 18 19 20 21 22 23 (local.get $l0) (local.get $r0))
        (i8x16.shuffle 8 9 10 11 12 13 14 15 24 25 26 27 28 29 30 31 (local.get $l0) (local.get $r0))))
      (f32.store (local.get $outLeft)
        (f32.add (f32x4.extract_lane 0 (local.get $k)) (f32x4.extract_lane 1 (local.get $k))))
      (f32.store (local.get $outRight)
        (f32.add (f32x4.extract_lane 2 (local.get $k)) (f32x4.extract_lane 3 (local.get $k))))
      (local.set $outLeft (i32.add (local.get $outLeft) (i32.const 4)))
      (local.set $outRight (i32.add (local.get $outRight) (i32.const 4)))
      (local.set $left (i32.add (local.get $left) (local.get $stepBytes)))
      (local.set $right (i32.add (local.get $right) (local.get $stepBytes)))
      (local.set $phase (i32.add (local.get $phase) (local.get $stepPhase)))
      (if (i32.ge_u (local.get $phase) (local.get $phaseCount)) (then
        (local.set $phase (i32.sub (local.get $phase) (local.get $phaseCount)))
        (local.set $left (i32.add (local.get $left) (i32.const 4)))
        (local.set $right (i32.add (local.get $right) (i32.const 4)))))
      (local.set $count (i32.sub (local.get $count) (i32.const 1)))
      (br $next))))

  ;; The same with fewer rows than phases (rowsPerPhase < 1): taps are interpolated between the two nearest rows. Row numbers
  ;; are fixed-point with 32 bits behind the point: whole numbers and floats turned into each other cost more than the taps.
  (func (export "resampleInterpolated")
    (param $table i32) (param $rowBytes i32) (param $left i32) (param $right i32)
    (param $outLeft i32) (param $outRight i32) (param $count i32)
    (param $phase i32) (param $phaseCount i32) (param $stepBytes i32) (param $stepPhase i32) (param $rowsPerPhase f64)
    (local $tap i32) (local $end i32) (local $upper i32) (local $l i32) (local $r i32) (local $k v128)
    (local $l0 v128) (local $r0 v128) (local $row i64) (local $rowStep i64) (local $mix v128)
    (local.set $rowStep (i64.trunc_f64_u (f64.mul (local.get $rowsPerPhase) (f64.const 4294967296))))
    (block $done (loop $next
      (br_if $done (i32.eqz (local.get $count)))
      (local.set $row (i64.mul (i64.extend_i32_u (local.get $phase)) (local.get $rowStep)))
      (local.set $mix (f32x4.splat (f32.mul (f32.const 0x1p-24)
        (f32.convert_i32_s (i32.and (i32.wrap_i64 (i64.shr_u (local.get $row) (i64.const 8))) (i32.const 0xffffff))))))
      (local.set $tap (i32.add (local.get $table)
        (i32.mul (i32.wrap_i64 (i64.shr_u (local.get $row) (i64.const 32))) (local.get $rowBytes))))
      (local.set $end (i32.add (local.get $tap) (local.get $rowBytes)))
      (local.set $upper (local.get $end))
      (local.set $l (local.get $left))
      (local.set $r (local.get $right))
      (local.set $l0 (v128.const f32x4 0 0 0 0))
      (local.set $r0 (v128.const f32x4 0 0 0 0))
      (loop $nextTaps
        (local.set $k (v128.load (local.get $tap)))
        (local.set $k (f32x4.add (local.get $k)
          (f32x4.mul (local.get $mix) (f32x4.sub (v128.load (local.get $upper)) (local.get $k)))))
        (local.set $l0 (f32x4.add (local.get $l0) (f32x4.mul (local.get $k) (v128.load (local.get $l)))))
        (local.set $r0 (f32x4.add (local.get $r0) (f32x4.mul (local.get $k) (v128.load (local.get $r)))))
        (local.set $l (i32.add (local.get $l) (i32.const 16)))
        (local.set $r (i32.add (local.get $r) (i32.const 16)))
        (local.set $upper (i32.add (local.get $upper) (i32.const 16)))
        (br_if $nextTaps (i32.lt_u (local.tee $tap (i32.add (local.get $tap) (i32.const 16))) (local.get $end))))
      ;; Sums of the lanes: left in lanes 0 and 1, right in 2 and 3, then each pair.
      (local.set $k (f32x4.add
        (i8x16.shuffle 0 1 2 3 4 5 6 7 16 17 18 19 20 21 22 23 (local.get $l0) (local.get $r0))
        (i8x16.shuffle 8 9 10 11 12 13 14 15 24 25 26 27 28 29 30 31 (local.get $l0) (local.get $r0))))
      (f32.store (local.get $outLeft)
        (f32.add (f32x4.extract_lane 0 (local.get $k)) (f32x4.extract_lane 1 (local.get $k))))
      (f32.store (local.get $outRight)
        (f32.add (f32x4.extract_lane 2 (local.get $k)) (f32x4.extract_lane 3 (local.get $k))))
      (local.set $outLeft (i32.add (local.get $outLeft) (i32.const 4)))
      (local.set $outRight (i32.add (local.get $outRight) (i32.const 4)))
      (local.set $left (i32.add (local.get $left) (local.get $stepBytes)))
      (local.set $right (i32.add (local.get $right) (local.get $stepBytes)))
      (local.set $phase (i32.add (local.get $phase) (local.get $stepPhase)))
      (if (i32.ge_u (local.get $phase) (local.get $phaseCount)) (then
        (local.set $phase (i32.sub (local.get $phase) (local.get $phaseCount)))
        (local.set $left (i32.add (local.get $left) (i32.const 4)))
        (local.set $right (i32.add (local.get $right) (i32.const 4)))))
      (local.set $count (i32.sub (local.get $count) (i32.const 1)))
      (br $next)))))
