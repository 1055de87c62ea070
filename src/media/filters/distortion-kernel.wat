;; The inner loops of the distortion: make the table of a curve, and read sound from it, four samples at a time.
;; Kept built in distortion-kernel-binary.ts. After a change here run (Debian package wabt)
;;   wat2wasm src/media/filters/distortion-kernel.wat --output=- | base64 --wrap=0
;; and put the text there. A test compares it with the plain loops of distortion-kernel.ts.
;;
;; Memory, in bytes: 0 curve, 17 f64;  1024 left, 960 f32;  5120 right, 960 f32;  16384 table, 65538 f32.
;; Curve: sine and cosine of the three angles at the first row (of sin, of cos, of tan), then of their steps from row to
;; row, then sinOffset, cosOffset, tanOffset, offset, scale.
(module
  (import "host" "memory" (memory 5))

  ;; Writes `count` rows from number `row` on. Values end at -16 and 16; what lies beyond full scale is cut when read.
  (func (export "fill") (param $row i32) (param $count i32)
    (local $angle i32) (local $s f64) (local $value f64)
    (local.set $row (i32.shl (local.get $row) (i32.const 2)))
    (block $done (loop $nextRow
      (br_if $done (i32.eqz (local.get $count)))
      (local.set $value (f64.add (f64.load offset=120 (i32.const 0)) (f64.mul (f64.load offset=128 (i32.const 0))
        (f64.mul
          (f64.mul
            (f64.add (f64.load offset=96 (i32.const 0)) (f64.load (i32.const 0)))
            (f64.add (f64.load offset=104 (i32.const 0)) (f64.load offset=24 (i32.const 0))))
          (f64.add (f64.load offset=112 (i32.const 0))
            (f64.div (f64.load offset=32 (i32.const 0)) (f64.load offset=40 (i32.const 0))))))))
      ;; What is no number (0 times infinity) is 0.
      (local.set $value (select (local.get $value) (f64.const 0) (f64.eq (local.get $value) (local.get $value))))
      (f32.store offset=16384 (local.get $row)
        (f32.demote_f64 (f64.max (f64.const -16) (f64.min (f64.const 16) (local.get $value)))))
      (local.set $angle (i32.const 0))
      (loop $nextAngle
        (local.set $s (f64.load (local.get $angle)))
        (f64.store (local.get $angle) (f64.add
          (f64.mul (local.get $s) (f64.load offset=56 (local.get $angle)))
          (f64.mul (f64.load offset=8 (local.get $angle)) (f64.load offset=48 (local.get $angle)))))
        (f64.store offset=8 (local.get $angle) (f64.sub
          (f64.mul (f64.load offset=8 (local.get $angle)) (f64.load offset=56 (local.get $angle)))
          (f64.mul (local.get $s) (f64.load offset=48 (local.get $angle)))))
        (br_if $nextAngle
          (i32.lt_u (local.tee $angle (i32.add (local.get $angle) (i32.const 16))) (i32.const 48))))
      (local.set $row (i32.add (local.get $row) (i32.const 4)))
      (local.set $count (i32.sub (local.get $count) (i32.const 1)))
      (br $nextRow))))

  ;; The largest second difference of the first `rows` rows (a multiple of 4, and two more): eight times what reading
  ;; between rows is wrong by. Where three rows lie beyond the same full scale, it does not matter.
  (func (export "bend") (param $rows i32) (result f32)
    (local $row i32) (local $a v128) (local $b v128) (local $c v128) (local $largest v128)
    (local.set $rows (i32.shl (local.get $rows) (i32.const 2)))
    (loop $next
      (local.set $a (v128.load offset=16384 (local.get $row)))
      (local.set $b (v128.load offset=16388 (local.get $row)))
      (local.set $c (v128.load offset=16392 (local.get $row)))
      (local.set $largest (f32x4.pmax (local.get $largest) (v128.and
        (v128.and
          (f32x4.lt (f32x4.pmin (f32x4.pmin (local.get $a) (local.get $b)) (local.get $c)) (v128.const f32x4 1 1 1 1))
          (f32x4.gt (f32x4.pmax (f32x4.pmax (local.get $a) (local.get $b)) (local.get $c))
            (v128.const f32x4 -1 -1 -1 -1)))
        (f32x4.abs (f32x4.sub (f32x4.add (local.get $a) (local.get $c)) (f32x4.add (local.get $b) (local.get $b)))))))
      (br_if $next (i32.lt_u (local.tee $row (i32.add (local.get $row) (i32.const 16))) (local.get $rows))))
    (local.set $largest (f32x4.pmax (local.get $largest)
      (i8x16.shuffle 8 9 10 11 12 13 14 15 0 1 2 3 4 5 6 7 (local.get $largest) (local.get $largest))))
    (f32.max (f32x4.extract_lane 0 (local.get $largest)) (f32x4.extract_lane 1 (local.get $largest))))

  ;; Changes the first `count` samples of both sides (rounded up to a multiple of 4) in place. `middle` is the row of 0.
  (func (export "shape") (param $count i32) (param $middle f32)
    (local $n i32) (local $end i32)
    (local $x v128) (local $row v128) (local $whole v128) (local $ab v128) (local $cd v128)
    (local.set $count (i32.shl (local.get $count) (i32.const 2)))
    (local.set $n (i32.const 1024))
    (loop $nextSide
      (local.set $end (i32.add (local.get $n) (local.get $count)))
      (block $done (loop $next
        (br_if $done (i32.ge_u (local.get $n) (local.get $end)))
        (local.set $x (f32x4.pmin (v128.const f32x4 1 1 1 1)
          (f32x4.pmax (v128.const f32x4 -1 -1 -1 -1) (v128.load (local.get $n)))))
        (local.set $x
          (f32x4.mul (f32x4.add (local.get $x) (v128.const f32x4 1 1 1 1)) (f32x4.splat (local.get $middle))))
        (local.set $whole (f32x4.floor (local.get $x)))
        (local.set $x (f32x4.sub (local.get $x) (local.get $whole)))
        ;; With 2^23 added, whole numbers stand in the low bits; times four they are places in the table.
        (local.set $row (i32x4.shl (i32x4.sub
          (f32x4.add (local.get $whole) (v128.const f32x4 8388608 8388608 8388608 8388608))
          (v128.const f32x4 8388608 8388608 8388608 8388608)) (i32.const 2)))
        ;; Each row with the next one.
        (local.set $ab (v128.load64_zero offset=16384 (i32x4.extract_lane 0 (local.get $row))))
        (local.set $ab (v128.load64_lane offset=16384 1 (i32x4.extract_lane 1 (local.get $row)) (local.get $ab)))
        (local.set $cd (v128.load64_zero offset=16384 (i32x4.extract_lane 2 (local.get $row))))
        (local.set $cd (v128.load64_lane offset=16384 1 (i32x4.extract_lane 3 (local.get $row)) (local.get $cd)))
        (local.set $row (i8x16.shuffle 0 1 2 3 8 9 10 11 16 17 18 19 24 25 26 27 (local.get $ab) (local.get $cd)))
        (local.set $ab (i8x16.shuffle 4 5 6 7 12 13 14 15 20 21 22 23 28 29 30 31 (local.get $ab) (local.get $cd)))
        (local.set $x (f32x4.add (local.get $row)
          (f32x4.mul (local.get $x) (f32x4.sub (local.get $ab) (local.get $row)))))
        (v128.store (local.get $n) (f32x4.pmin (v128.const f32x4 1 1 1 1)
          (f32x4.pmax (v128.const f32x4 -1 -1 -1 -1) (local.get $x))))
        (local.set $n (i32.add (local.get $n) (i32.const 16)))
        (br $next)))
      (local.set $n (i32.const 5120))
      (br_if $nextSide (i32.lt_u (local.get $end) (i32.const 5120))))))
