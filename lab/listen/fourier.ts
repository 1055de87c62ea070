// A plain fast Fourier transform, for comparing recordings. Lab only: not made for speed.

/** Transforms in place; the length must be a power of two. `isInverse` leaves out the division by the length. */
export function fourierTransform(real: Float64Array, imaginary: Float64Array, { isInverse = false } = {}): void {
  const length = real.length;
  reverseBits(real, imaginary);
  for (let size = 2; size <= length; size *= 2) {
    const angle = ((isInverse ? 2 : -2) * Math.PI) / size;
    for (let offset = 0; offset < size / 2; offset++) {
      const cosine = Math.cos(angle * offset);
      const sine = Math.sin(angle * offset);
      for (let low = offset; low < length; low += size) {
        const high = low + size / 2;
        const partReal = real[high]! * cosine - imaginary[high]! * sine;
        const partImaginary = real[high]! * sine + imaginary[high]! * cosine;
        real[high] = real[low]! - partReal;
        imaginary[high] = imaginary[low]! - partImaginary;
        real[low]! += partReal;
        imaginary[low]! += partImaginary;
      }
    }
  }
}

function reverseBits(real: Float64Array, imaginary: Float64Array): void {
  for (let index = 1, reversed = 0; index < real.length; index++) {
    let bit = real.length >> 1;
    for (; (reversed & bit) !== 0; bit >>= 1) reversed ^= bit;
    reversed |= bit;
    if (index < reversed) {
      [real[index], real[reversed]] = [real[reversed]!, real[index]!];
      [imaginary[index], imaginary[reversed]] = [imaginary[reversed]!, imaginary[index]!];
    }
  }
}
