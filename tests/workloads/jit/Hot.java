// SPDX-License-Identifier: GPL-2.0-or-later
// Three functions that are worth compiling, for so many milliseconds.
public class Hot {
	static int hotFib(int n) {
		return n < 2 ? n : hotFib(n - 1) + hotFib(n - 2);
	}

	static long hotLoop(int n) {
		long sum = 0;
		for (int i = 0; i < n; i++)
			sum = sum * 31 + i;
		return sum;
	}

	static double hotArea(int n) {
		double area = 0;
		for (int i = 0; i < n; i++)
			area += i % 7;
		return area;
	}

	public static void main(String[] args) {
		long end = System.currentTimeMillis() + Long.parseLong(args[0]);
		double sum = 0;
		while (System.currentTimeMillis() < end)
			sum += hotFib(20) + hotLoop(100000) + hotArea(30000);
		System.out.println("sum=" + sum);
	}
}
