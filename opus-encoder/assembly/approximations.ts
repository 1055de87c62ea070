// Logarithms, powers and angles, as exact as the encoder's decisions need them (these do not have to agree with the
// decoder to the last bit), and the whole-number functions that do. AssemblyScript.

/** Binary logarithm of a positive number, exact to 1e-4. */
export function log2(value: f32): f32 {
  const bits = reinterpret<u32>(value);
  const exponent = i32(bits >> 23) - 127;
  // Between 1 and 2; the argument of the series is the part above 1.5, relative to 1.5.
  const part = reinterpret<f32>((bits & 0x007fffff) | 0x3f800000);
  const x = (part - 1.5) / (part + 1.5);
  const square = x * x;
  const series = x * (2.8853901 + square * (0.9617967 + square * (0.577078 + square * 0.4122)));
  return f32(exponent) + 0.5849625 + series;
}

/** 2 to the power of a number between -126 and 126, exact to 1e-5 of the result. */
export function exp2(value: f32): f32 {
  const whole = Mathf.floor(value);
  const x = value - whole;
  const series: f32 =
    1.0 + x * (f32(Math.LN2) + x * (0.2402265 + x * (0.0555041 + x * (0.0096181 + x * (0.0013333 + x * 0.000154)))));
  return series * reinterpret<f32>(u32(i32(whole) + 127) << 23);
}

/**
 * The fraction of a quarter turn whose tangent squared is `side` by `middle` (both 0 or more), exact to 1e-5; 0 when
 * both are 0.
 */
export function quarterTurns(side: f32, middle: f32): f32 {
  const isSteep = side > middle;
  const longer = isSteep ? side : middle;
  if (!(longer > 0)) return 0;
  const square = (isSteep ? middle : side) / longer;
  const high: f32 = square * (0.0792 + square * (-0.0334 + square * 0.00681));
  const series: f32 = 0.99999 + square * (-0.33318 + square * (0.19848 + square * (-0.13263 + high)));
  const part: f32 = 0.63661977 * Mathf.sqrt(square) * series;
  return isSteep ? 1 - part : part;
}

/** Sine and cosine of up to an eighth of a turn. */
export function smallSine(angle: f32): f32 {
  const square = angle * angle;
  return angle * (1 - square * (0.16666667 - square * (0.008333333 - square * 0.0001984127)));
}

export function smallCosine(angle: f32): f32 {
  const square = angle * angle;
  return 1 - square * (0.5 - square * (0.041666668 - square * (0.0013888889 - square * 0.0000248016)));
}

/** The number of bits of a value: 0 for 0. */
export function bitLength(value: u32): i32 {
  return 32 - i32(clz(value));
}

/**
 * The product of two numbers of 16 bits, in 32768ths, rounded. Bit for bit the decoder's (RFC 6716 section 4.3.4.3).
 */
function product15(a: i32, b: i32): i32 {
  return (16384 + a * b) >> 15;
}

/** Cosine of an angle in 16384ths of a quarter turn, in 32768ths; bit for bit the decoder's. */
export function exactCosine(angle: i32): i32 {
  const square = (4096 + angle * angle) >> 13;
  return 1 + (32767 - square) + product15(square, -7651 + product15(square, 8277 + product15(-626, square)));
}

/** Binary logarithm of the tangent that this sine and cosine have, in 2048ths; bit for bit the decoder's. */
export function exactLogTangent(sine: i32, cosine: i32): i32 {
  const cosineBits = bitLength(u32(cosine));
  const sineBits = bitLength(u32(sine));
  const c = cosine << (15 - cosineBits);
  const s = sine << (15 - sineBits);
  return (
    (sineBits - cosineBits) * 2048 + product15(s, product15(s, -2597) + 7932) - product15(c, product15(c, -2597) + 7932)
  );
}

/** The product rounded as the decoder rounds it in its calculations with angles. */
export function exactProduct(a: i32, b: i32): i32 {
  return product15(a, b);
}
