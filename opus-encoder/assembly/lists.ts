// Lists of numbers in memory, by address and index. AssemblyScript, compiled into its users.

export function intAt(list: usize, index: i32): i32 {
  return load<i32>(list + (usize(index) << 2));
}

export function setInt(list: usize, index: i32, value: i32): void {
  store<i32>(list + (usize(index) << 2), value);
}

export function floatAt(list: usize, index: i32): f32 {
  return load<f32>(list + (usize(index) << 2));
}

export function setFloat(list: usize, index: i32, value: f32): void {
  store<f32>(list + (usize(index) << 2), value);
}

/** The sum of the four lanes. */
export function sumOfLanes(lanes: v128): f32 {
  const halves = f32x4.add(lanes, f32x4.shuffle(lanes, lanes, 2, 3, 0, 1));
  return f32x4.extract_lane(halves, 0) + f32x4.extract_lane(halves, 1);
}

/** The sum of products; `count` is a multiple of four. */
export function dot(a: usize, b: usize, count: i32): f32 {
  let sum = f32x4.splat(0);
  const end = a + (usize(count) << 2);
  while (a < end) {
    sum = f32x4.add(sum, f32x4.mul(v128.load(a), v128.load(b)));
    a += 16;
    b += 16;
  }
  return sumOfLanes(sum);
}
