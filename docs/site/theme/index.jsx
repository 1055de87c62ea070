// The generator's theme, but for tables: one that is wider than the screen can be scrolled with the keyboard too.

import { getCustomMDXComponent as getGeneratorsComponents } from "@rspress/core/theme-original";
import { useEffect, useRef, useState } from "react";

export * from "@rspress/core/theme-original";

export function getCustomMDXComponent() {
  return { ...getGeneratorsComponents(), table: ScrollingTable };
}

function ScrollingTable(props) {
  const frame = useRef(null);
  // Before it is measured, and where no script runs, it may be too wide.
  const [isWide, setIsWide] = useState(true);
  useEffect(() => {
    const element = frame.current;
    const observer = new ResizeObserver(() => setIsWide(element.scrollWidth > element.clientWidth));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  return (
    <div ref={frame} className="rp-table-scroll-container rp-scrollbar" tabIndex={isWide ? 0 : undefined}>
      <table {...props} />
    </div>
  );
}
